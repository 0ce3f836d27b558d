// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/request"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Only what another has carried out is known to run.
func TestWhatRunsIsKnownOfANetworkThatAnotherHasCarriedOut(t *testing.T) {
	const done, failed = corev1beta1.LastOperationStateSucceeded, corev1beta1.LastOperationStateError
	written := &pipeline.Accepted{}
	written.Facts.KubernetesVersion = "1.30.0"
	for name, test := range map[string]struct {
		change func(n *request.Network)
		want   string // the Kubernetes version of what runs
	}{
		"another has made it":          {func(*request.Network) {}, "1.36.3"},
		"there is none":                {func(n *request.Network) { n.Managed = nil }, ""},
		"another has failed":           {func(n *request.Network) { n.Network.Status.LastOperation.State = failed }, ""},
		"it says nothing":              {func(n *request.Network) { n.Network.Status.LastOperation = nil }, ""},
		"it has changed since":         {func(n *request.Network) { n.Network.Generation++ }, ""},
		"Trellis has applied it":       {func(n *request.Network) { n.State.Applied = &pipeline.Applied{Accepted: written} }, ""},
		"Trellis has made it asleep":   {func(n *request.Network) { n.State.Unapplied = true }, ""},
		"Trellis has begun to take it": {func(n *request.Network) { n.State.TakenOver, n.Managed = written, nil }, "1.30.0"},
		"Trellis has begun to make it": {func(n *request.Network) {
			n.State.Written = &state.Written{Config: &pipeline.Applied{Accepted: written}}
			n.Network.Status.LastOperation.State = corev1beta1.LastOperationStateProcessing
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := pipeline.New(nil, nil)
			g.Expect(err).NotTo(HaveOccurred())
			n := &request.Network{
				Network: &extensionsv1alpha1.Network{}, Cluster: &extensionsv1alpha1.Cluster{}, Shoot: &corev1beta1.Shoot{},
				State: &state.State{}, Managed: map[string]*resourcesv1alpha1.ManagedResource{"noop": {}},
			}
			n.Plugin.Adopts = []plugin.Bundle{plugin.NetworkBundle("noop", nil)}
			n.Shoot.Spec.Kubernetes.Version = "1.36.3"
			n.Network.Generation, n.Network.Status.ObservedGeneration = 7, 7
			n.Network.Status.LastOperation = &corev1beta1.LastOperation{State: done}
			test.change(n)
			made, err := n.Request(t.Context(), nil, p, plugin.Environment{})
			g.Expect(err).NotTo(HaveOccurred())
			if test.want == "" {
				g.Expect(made.TakenOver).To(BeNil())
				return
			}
			g.Expect(made.TakenOver.Facts.KubernetesVersion).To(Equal(test.want))
		})
	}
}
