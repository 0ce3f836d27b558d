// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"regexp"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// watches finds the address of the shoot that a goroutine watches a kind of.
var watches = regexp.MustCompile(`internal/shootclient\.\(\*Shoot\)\.reflect\((0x[0-9a-f]+)`)

// openShoots counts the shoots of which Trellis watches something in this process.
func openShoots() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	open := map[string]bool{}
	for _, found := range watches.FindAllSubmatch(stacks, -1) {
		open[string(found[1])] = true
	}
	return len(open)
}

// Trellis closes the access to a shoot that is hibernated, and to one whose control plane the
// gardenlet removes: first the Network, later the Secret. It does not run in parallel, since
// it counts.
func TestAccessToShootsEnds(t *testing.T) {
	_, in, shoot := clusters(t)
	before := openShoots()
	p := newControlPlane(t, in, shoot, newNamespace())
	hibernated := func(yes bool) {
		p.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: &yes} })
	}
	p.deploys()
	p.ready()
	p.Eventually(openShoots).Should(Equal(before+1), "its health is observed")
	hibernated(true)
	p.Eventually(openShoots).Should(Equal(before))
	hibernated(false)
	p.Eventually(openShoots).WithTimeout(2 * time.Minute).Should(Equal(before + 1))

	p.Expect(p.gardenlet.Delete(t.Context())).To(Succeed())
	p.Expect(p.gardenlet.WaitGone(t.Context())).To(Succeed())
	p.Expect(in.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: shootclient.SecretName}})).To(Succeed())
	p.Expect(client.IgnoreNotFound(in.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}))).To(Succeed())
	p.Eventually(openShoots).WithTimeout(time.Minute).Should(Equal(before))
}
