// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The message names the objects that still exist, since when they are being deleted, and
// their finalizers, up to a limit.
func TestWhatBlocksADeletionIsNamed(t *testing.T) {
	e := newEnv(t)
	var objects []client.Object
	for i := range mostNamed + 2 {
		held := e.configMap(fmt.Sprintf("held-%d", i))
		held.Finalizers = []string{holder, "example.com/other"}
		objects = append(objects, held)
	}
	mr := e.state("network", objects...)
	e.operator()
	e.becomesGood("network")
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.Eventually(e.message("network", "ResourcesApplied")).Should(HavePrefix("Waiting until these are deleted: "))
	message := e.message("network", "ResourcesApplied")()
	e.Expect(message).To(And(HaveSuffix(" and 2 more."+advice[len(advice)-1].text), ContainSubstring(fmt.Sprintf(
		`ConfigMap %s/held-0 (deleted at %s; held by %s, example.com/other), ConfigMap`,
		e.namespace, live(e, objects[0].(*corev1.ConfigMap)).DeletionTimestamp.UTC().Format(time.RFC3339), holder))))

	// A run that began before the cache had the message may try to write it again.
	e.Eventually(func() []string {
		e.runs(4 * len(objects))
		return e.audit.writes()
	}).Should(BeEmpty(), "nothing has changed")
	for _, each := range objects {
		change(e, each.(*corev1.ConfigMap), func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	}
	e.isGone(mr)
}
