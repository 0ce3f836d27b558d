// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Invariant 5: a run that finds nothing to do sends no request.
func TestAnUnchangedShootCostsNoRequest(t *testing.T) {
	e := setup(t)
	s := e.finished()
	e.stays(s)
	e.requests.reset(0)
	for _, object := range []client.Object{e.network(), e.cluster(), e.access(), e.prerequisites()} {
		e.touch(object)
	}
	e.Eventually(e.requests.All).Should(HaveLen(2), "the two kubeconfigs are compared again")
	e.stays(s)
	writes := slices.DeleteFunc(e.requests.All(), func(line string) bool { return strings.HasPrefix(line, "GET ") })
	e.Expect(writes).To(BeEmpty(), "nothing is written though all of it was touched")

	e.requests.reset(0)
	e.touch(e.network())
	e.touch(e.cluster())
	e.stays(s)
	e.Expect(e.requests.All()).To(BeEmpty())
}

func TestARestartWritesNothing(t *testing.T) {
	e := setup(t)
	s := e.finished()
	e.stays(s)
	e.stop()
	e.requests.reset(0)
	e.start()
	e.stays(s)
	e.Eventually(e.requests.All).Should(HaveLen(2), "the two kubeconfigs are compared once")
	e.stays(s)
	e.Expect(e.requests.All()).To(And(HaveLen(2), HaveEach(HavePrefix("GET "))))
}

func TestAFreshShootCostsFewRequests(t *testing.T) {
	e := setup(t)
	e.finished()
	requests := e.requests.All()
	t.Logf("%d requests:\n%s", len(requests), strings.Join(requests, "\n"))
	e.Expect(len(requests)).To(BeNumerically("<=", 18))
}

// touch changes an object without effect.
func (e *env) touch(object client.Object) {
	e.t.Helper()
	patch(e, object, func(object client.Object) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["touched"] = metav1.Now().String()
		object.SetAnnotations(annotations)
	})
}
