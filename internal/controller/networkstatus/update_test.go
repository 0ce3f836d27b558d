// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/plugin"
)

// What an update waits for is a condition beside the others, which comes and goes with the state.
func TestAnUpdateThatWaitsIsACondition(t *testing.T) {
	e := setup(t, often)
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	keeps := func(record *wave.Record) {
		encoded, err := (&state.State{Components: []plugin.Component{e.component("agent", "DaemonSet", "agent")}, Rollout: record}).Encode()
		e.Expect(err).NotTo(HaveOccurred())
		e.patchStatus(n, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
	}
	stated := func() corev1beta1.Condition {
		e.seed.Read(t, n)
		return condition.Value(n.Status.Conditions, extensionsv1alpha1.NetworkUpToDate)
	}
	keeps(&wave.Record{Revision: "new", Phase: wave.Pending, Reason: wave.RolloutHalted, Message: "The roll-out is halted"})
	e.Eventually(stated).Should(And(
		HaveField("Status", corev1beta1.ConditionFalse), HaveField("Reason", "RolloutHalted"), HaveField("Message", "The roll-out is halted")))
	e.Expect(condition.Get(n.Status.Conditions, "SystemComponentsHealthy")).NotTo(BeNil())
	keeps(&wave.Record{Revision: "new", Phase: wave.Progressing, Reason: wave.Updating})
	e.Eventually(stated).Should(HaveField("Status", corev1beta1.ConditionProgressing))
	keeps(&wave.Record{Revision: "new", Phase: wave.Succeeded})
	e.Eventually(stated).Should(BeZero())
}
