// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// A plugin that cannot read the present objects keeps its network as it is, and harms no
// other network.
func TestAPanicOfAPluginIsAnError(t *testing.T) {
	g := NewWithT(t)
	n := &extensionsv1alpha1.Network{}
	n.Spec.Type = "example"
	_, err := gate.Nodes{}.Check(t.Context(), gate.Plan{
		Network: n, Shoot: &corev1beta1.Shoot{},
		Built: &pipeline.Result{Precondition: &plugin.Precondition{
			AppliesTo: func(present []unstructured.Unstructured) bool { return present[0].GetName() == "example" },
		}},
		Present: func(context.Context) ([]unstructured.Unstructured, bool, error) { return nil, true, nil },
	})
	g.Expect(err).To(MatchError(And(
		ContainSubstring("the example plugin panicked at nodes_test.go:"), ContainSubstring("index out of range"))))
}
