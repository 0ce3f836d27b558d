// SPDX-License-Identifier: Apache-2.0

package seed_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
)

// Only what another has carried out is known to run.
func TestWhatRunsIsKnownOfANetworkThatAnotherHasCarriedOut(t *testing.T) {
	const done, failed = corev1beta1.LastOperationStateSucceeded, corev1beta1.LastOperationStateError
	written := &pipeline.Accepted{}
	written.Facts.KubernetesVersion = "1.30.0"
	for name, test := range map[string]struct {
		change func(n *seed.Network)
		want   string // the Kubernetes version of what runs
	}{
		"another has made it":          {func(*seed.Network) {}, "1.36.3"},
		"nobody has made it":           {func(n *seed.Network) { n.Main = nil }, ""},
		"another has failed":           {func(n *seed.Network) { n.Network.Status.LastOperation.State = failed }, ""},
		"it says nothing":              {func(n *seed.Network) { n.Network.Status.LastOperation = nil }, ""},
		"it has changed since":         {func(n *seed.Network) { n.Network.Generation++ }, ""},
		"Trellis has applied it":       {func(n *seed.Network) { n.State.Applied = &pipeline.Applied{Accepted: written} }, ""},
		"Trellis has begun to take it": {func(n *seed.Network) { n.State.TakenOver, n.Main = written, nil }, "1.30.0"},
		"Trellis has begun to make it": {func(n *seed.Network) {
			n.State.Written = &state.Written{Config: &pipeline.Applied{Accepted: written}}
			n.Network.Status.LastOperation.State = corev1beta1.LastOperationStateProcessing
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := pipeline.New(nil, nil)
			g.Expect(err).NotTo(HaveOccurred())
			n := &seed.Network{
				Network: &extensionsv1alpha1.Network{}, Cluster: &extensionsv1alpha1.Cluster{}, Shoot: &corev1beta1.Shoot{},
				State: &state.State{}, Main: &resourcesv1alpha1.ManagedResource{},
			}
			n.Shoot.Spec.Kubernetes.Version = "1.36.3"
			n.Network.Generation, n.Network.Status.ObservedGeneration = 7, 7
			n.Network.Status.LastOperation = &corev1beta1.LastOperation{State: done}
			test.change(n)
			request, err := n.Request(t.Context(), nil, p, pipeline.Environment{})
			g.Expect(err).NotTo(HaveOccurred())
			if test.want == "" {
				g.Expect(request.TakenOver).To(BeNil())
				return
			}
			g.Expect(request.TakenOver.Facts.KubernetesVersion).To(Equal(test.want))
		})
	}
}
