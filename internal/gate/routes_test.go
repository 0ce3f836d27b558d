// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/gate"
	"github.com/trellis-network/trellis/pipeline"
)

// Only the condition True lets a network rely on routes. It waits while the operator makes them, and
// until the operator has looked.
func TestRoutesMustBeThere(t *testing.T) {
	for name, test := range map[string]struct {
		awaits bool
		routes []corev1beta1.Condition
		closed string
	}{
		"not needed": {false, nil, ""},
		"all there":  {true, []corev1beta1.Condition{{Type: extensionsv1alpha1.PodRoutesCreated, Status: corev1beta1.ConditionTrue}}, ""},
		"being made": {true, []corev1beta1.Condition{{Type: extensionsv1alpha1.PodRoutesCreated, Status: corev1beta1.ConditionProgressing, Message: "Routes are being made."}}, "through them: Routes are being made. The annotation"},
		"unknown":    {true, nil, "through them: the operator has not looked at them yet. The annotation"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			network := &extensionsv1alpha1.Network{}
			network.Status.Conditions = test.routes
			verdict, err := gate.Routes{}.Check(t.Context(), gate.Plan{Network: network, Built: &pipeline.Result{AwaitsRoutes: test.awaits}})
			g.Expect(err).NotTo(HaveOccurred())
			if test.closed == "" {
				g.Expect(verdict.Closed).NotTo(HaveOccurred())
			} else {
				g.Expect(verdict.Closed).To(MatchError(ContainSubstring(test.closed)))
			}
		})
	}
}
