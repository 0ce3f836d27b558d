// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

func (e *env) withoutCluster() {
	e.t.Helper()
	e.Expect(e.client.Delete(e.t.Context(), &extensionsv1alpha1.Cluster{ObjectMeta: named(e.namespace)})).To(Succeed())
}

// In a landscape gardenlet writes both, and the contract has it that nothing is told.
func TestAMissingClusterIsRetried(t *testing.T) {
	contract.Shows(t, "N16")
	e := setup(t, inGardener)
	e.withoutCluster()
	n := e.network()
	e.stays(n)
	e.Expect(n.Status.LastOperation).To(BeNil())
	e.cluster(func(*corev1beta1.Shoot) {})
	e.becomes(n, create, working)
}

func TestStandaloneANetworkWithoutAClusterSaysWhatItWaitsFor(t *testing.T) {
	contract.Shows(t, "N16")
	e := setup(t)
	e.withoutCluster()
	n := e.network()
	e.becomes(n, create, working)
	e.Expect(n.Status.LastOperation.Description).To(Equal("Waiting for the Cluster " + e.namespace + ", which has the facts about this network"))
	e.stays(n)
	e.cluster(func(*corev1beta1.Shoot) {})
	e.managedResource()
	e.Eventually(func() string { e.get(n); return n.Status.LastOperation.Description }).Should(Equal("Reconciling the Network"))
	e.applied()
	e.becomes(n, create, fine)

	e.withoutCluster()
	e.restart()
	e.stays(n)
	e.Expect(n.Status.LastOperation.State).To(Equal(fine), "what has succeeded waits for nothing")
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	e.becomes(n, deleting, working)
	e.Expect(n.Status.LastOperation.Description).To(HavePrefix("Waiting for the Cluster "))
	e.cluster(func(*corev1beta1.Shoot) {})
	e.gone(n)
}

// A request that cannot be kept in the state, which another program has written, stays in the
// annotation.
func TestARequestThatCannotBeKeptIsNotTakenAway(t *testing.T) {
	contract.Shows(t, "N16")
	e := setup(t, inGardener)
	e.withoutCluster()
	e.stop()
	n := e.network(asking("reconcile"))
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.State = &runtime.RawExtension{Raw: []byte(`{"written":"by another"}`)}
	})
	e.stop = e.start()
	e.stays(n)
	e.Expect(n.Annotations).To(HaveKey(extensionsv1alpha1.OperationAnnotation))
}
