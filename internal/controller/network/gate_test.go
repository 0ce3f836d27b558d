// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/gate"
)

// whilePodsTalk is a gate that is closed while connectivity fails.
type whilePodsTalk struct{}

func (whilePodsTalk) Check(_ context.Context, plan gate.Plan) (gate.Verdict, error) {
	is := condition.Value(plan.Network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable)
	if is.Status == corev1beta1.ConditionFalse {
		return gate.Verdict{Closed: errors.New(is.Message)}, nil
	}
	return gate.Open(), nil
}

func TestAGateCanAskForTheConnectivity(t *testing.T) {
	for status, closed := range map[corev1beta1.ConditionStatus]bool{
		corev1beta1.ConditionTrue: false, corev1beta1.ConditionUnknown: false, corev1beta1.ConditionFalse: true,
	} {
		g := NewWithT(t)
		asking := &run{builds: true}
		asking.Network = &extensionsv1alpha1.Network{}
		asking.Network.Status.Conditions = []corev1beta1.Condition{
			{Type: "SystemComponentsHealthy", Status: corev1beta1.ConditionFalse},
			{Type: extensionsv1alpha1.PodNetworkAvailable, Status: status, Message: "pods: node-1 from the node node-2, no answer"},
		}
		ended := gatekeeper{[]gate.Gate{whilePodsTalk{}}, &requests{}}.gate(t.Context(), asking)
		g.Expect(ended.Continues()).NotTo(Equal(closed), string(status))
		if closed {
			g.Expect(ended.Err()).To(MatchError("pods: node-1 from the node node-2, no answer"), "users are told")
		}
	}
}
