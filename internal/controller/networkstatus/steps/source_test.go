// SPDX-License-Identifier: Apache-2.0

package steps_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/steps"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// report is what the source states of a Network with this record, whose shoot does not answer.
func report(t *testing.T, record *transition.Record, conditions ...corev1beta1.Condition) source.Report {
	t.Helper()
	g := NewWithT(t)
	n := &extensionsv1alpha1.Network{}
	n.Status.Conditions = conditions
	return reportOf(g, n, &state.State{Transition: record})
}

// reportOf is what the source states of a Network with this state, whose shoot does not answer.
func reportOf(g *WithT, n *extensionsv1alpha1.Network, kept *state.State) source.Report {
	s := &steps.Source{}
	reported, err := s.Report(context.Background(), source.Input{
		Network: n, State: kept, Components: []plugin.Component{{Kind: "DaemonSet", Workload: "agent"}}, Now: noon,
		Shoot: func(context.Context) (*shootclient.Shoot, error) { return nil, errors.New("no answer") },
	})
	g.Expect(err).NotTo(HaveOccurred())
	return reported
}

func TestATransitionIsReported(t *testing.T) {
	g := NewWithT(t)
	since := metav1.NewTime(noon)
	record := &transition.Record{
		Target: "x", From: "VXLAN", To: "none", Step: 1, Steps: 2, Name: "both", Since: since, Phase: transition.RollingOut,
	}
	reported := report(t, record)
	g.Expect(reported.Conditions).To(Equal([]corev1beta1.Condition{{
		Type: extensionsv1alpha1.TransitionProgressing, Status: corev1beta1.ConditionTrue, Reason: "RollingOut",
		Message: "Step 1 of 2: both. Waiting until the agents of all nodes run the step.",
	}}))
	g.Expect(reported.ProviderStatus).To(HaveKeyWithValue(steps.StatusKey, And(
		HaveField("From", "VXLAN"), HaveField("To", "none"), HaveField("Step", int32(1)), HaveField("Steps", int32(2)), HaveField("Name", "both"),
		HaveField("WaitsFor", "the agents of all nodes run the step"), HaveField("Nodes", BeNil()))))

	record.Phase = transition.Halted
	reported = report(t, record, corev1beta1.Condition{Type: extensionsv1alpha1.PodNetworkAvailable, Status: corev1beta1.ConditionFalse, Message: "Nodes one and two: the test pods fails."})
	g.Expect(reported.Conditions[0]).To(And(HaveField("Status", corev1beta1.ConditionFalse), HaveField("Reason", "ConnectivityLost"),
		HaveField("Message", ContainSubstring("Nodes one and two: the test pods fails."))))
}

func TestANetworkWithoutTransitionHasNoCondition(t *testing.T) {
	NewWithT(t).Expect(report(t, nil)).To(Equal(source.Report{}))
}

func TestAChangeOfTheTypeIsReported(t *testing.T) {
	g := NewWithT(t)
	applied := func(networkType string) *pipeline.Applied {
		return &pipeline.Applied{Config: []byte("{}"), Accepted: &pipeline.Accepted{Spec: extensionsv1alpha1.NetworkSpec{Type: networkType}}}
	}
	at := &state.Exchange{Base: applied("tin"), Other: applied("zinc"), Since: metav1.NewTime(noon), Nodes: 3, NodesDone: 1, WaitsFor: "node b: pods leave it"}
	n := &extensionsv1alpha1.Network{}
	n.Spec.Type = "zinc"
	reported := reportOf(g, n, &state.State{Exchange: at})
	g.Expect(reported.Conditions).To(Equal([]corev1beta1.Condition{{
		Type: extensionsv1alpha1.TransitionProgressing, Status: corev1beta1.ConditionTrue, Reason: "TypeChanging",
		Message: "The type of the network changes from tin to zinc, node by node: 1 of 3 nodes have changed. Waiting until node b: pods leave it.",
	}}))
	g.Expect(reported.ProviderStatus).To(HaveKeyWithValue(steps.StatusKey, And(
		HaveField("From", "tin"), HaveField("To", "zinc"), HaveField("Nodes", HaveValue(Equal(int32(3)))), HaveField("NodesDone", HaveValue(Equal(int32(1)))))))

	n.Spec.Type, at.Halted = "tin", true // a user has turned back, and pods do not talk
	reported = reportOf(g, n, &state.State{Exchange: at})
	g.Expect(reported.Conditions[0]).To(And(HaveField("Status", corev1beta1.ConditionFalse), HaveField("Reason", "ConnectivityLost"),
		HaveField("Message", HavePrefix("The type of the network changes from zinc to tin"))))
}
