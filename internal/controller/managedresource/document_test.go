// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const page = "../../../docs/resource-manager.md"

// The example of the page works as it is, in another namespace.
func TestTheExampleOfThePage(t *testing.T) {
	e := newEnv(t)
	text, err := os.ReadFile(page)
	e.Expect(err).NotTo(HaveOccurred())
	example := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindStringSubmatch(string(text))
	for document := range strings.SplitSeq(example[1], "---\n") {
		object := &unstructured.Unstructured{}
		e.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed())
		object.SetNamespace(e.namespace)
		e.Expect(e.seed.Create(e.ctx, object)).To(Succeed())
	}
	e.operator()
	e.becomesGood("greeting")
	greeting := &corev1.ConfigMap{}
	e.Expect(e.shoot.Get(e.ctx, client.ObjectKey{Namespace: "kube-system", Name: "greeting"}, greeting)).To(Succeed())
	e.Expect(greeting.Data).To(HaveKeyWithValue("hello", "world"))
	mr := e.get("greeting")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}

// The page names every reason that a condition may have.
func TestThePageNamesAllReasons(t *testing.T) {
	text, err := os.ReadFile(page)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	for _, reason := range []string{
		reasonApplySucceeded, reasonApplyProgressing, reasonApplyFailed, reasonDecodingFailed, reasonCannotReadSecret,
		reasonDeletionPending, reasonDeletionFailed, reasonIgnored, reasonChecksPending,
		reasonHealthCheckError, reasonResourcesHealthy, reasonResourcesRolled,
		"<Kind>" + suffixMissing, "<Kind>" + suffixUnhealthy, "<Kind>" + suffixProgressing,
	} {
		g.Expect(string(text)).To(ContainSubstring("`" + reason + "`"))
	}
}
