// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// A request that arrives while a reconciliation begins is answered, whichever of its first two
// writes that comes before, and an error is none of the spec that it is not about.
func TestARequestThatOvertakesAnotherIsCarriedOut(t *testing.T) {
	for name, test := range map[string]struct {
		first string // the config that is overtaken
		write string // the end of the path of the request that is overtaken
	}{
		"before the status is written":                    {`{"backend":"none"}`, "/status"},
		"before the annotation goes":                      {`{"backend":"none"}`, ""},
		"before the status of an invalid spec is written": {`{"backend":3}`, "/status"},
		"before the annotation goes from an invalid spec": {`{"backend":3}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			n := e.finished(asking("reconcile"))
			again := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name}}
			var once sync.Once
			e.requests.Before(func(request *http.Request) error {
				if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/networks/"+again.Name+test.write) {
					once.Do(func() {
						e.patch(again, func(n *extensionsv1alpha1.Network) {
							withConfig(`{"extras":"three"}`)(n)
							asking("reconcile")(n)
							n.Annotations[extensionsv1alpha1.TimestampAnnotation] = "2026-01-01T00:00:01Z"
						})
					})
				}
				return nil
			})
			e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(test.first)(n); asking("reconcile")(n) })
			e.Eventually(e.names).Should(ContainElement(laterName), "what only the last spec asks for")
			e.Eventually(func(g Gomega) {
				e.get(n)
				e.applied()
				g.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
				g.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
				g.Expect(n.Status.LastOperation.State).To(Equal(fine))
			}).Should(Succeed())
		})
	}
}

// The status reports no migration that has not happened, though it was asked for while
// something else was carried out.
func TestAReconciliationIsNotTakenForTheMigrationThatOvertakesIt(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.stop()
	e.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: new(true)} })
	before := n.DeepCopy()
	n.Status.LastOperation.Type, n.Status.LastOperation.State = again, erroneous
	e.Expect(e.client.Status().Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	e.patch(n, withConfig(`{"backend":"none"}`))

	away := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name}}
	var once sync.Once
	var statuses requestBodies
	e.requests.Before(func(request *http.Request) error {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/networks/"+away.Name+"/status") {
			once.Do(func() { e.patch(away, asking("migrate")) })
			statuses.add(request)
		}
		return nil
	})
	e.restart()
	e.becomes(n, migrating, fine)
	first := slices.IndexFunc(statuses.all(), func(body string) bool { return strings.Contains(body, "Succeeded") })
	e.Expect(statuses.all()[first]).To(ContainSubstring("Successfully reconciled Network"))
}

// requestBodies are what requests have sent.
type requestBodies struct {
	mu     sync.Mutex
	bodies []string
}

func (r *requestBodies) add(request *http.Request) {
	body, err := request.GetBody()
	if err != nil {
		return
	}
	raw, _ := io.ReadAll(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(raw))
}

func (r *requestBodies) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// Nor does a request that is only taken away take another one with it: a control plane
// that has left comes back.
func TestARequestIsNotTakenAwayForAnother(t *testing.T) {
	e := setup(t, inGardener)
	n := e.network(asking("migrate"))
	e.becomes(n, migrating, fine)
	e.answered(n)
	back := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name}}
	var once sync.Once
	e.requests.Before(func(request *http.Request) error {
		if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/networks/"+back.Name) {
			once.Do(func() { e.patch(back, asking("restore")) })
		}
		return nil
	})
	e.patch(n, asking("reconcile"))
	e.Eventually(e.names).Should(ContainElement(mainName))
	e.applied()
	e.becomes(n, restoring, fine)
	e.answered(n)
}
