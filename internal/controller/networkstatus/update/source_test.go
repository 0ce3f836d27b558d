// SPDX-License-Identifier: Apache-2.0

package update_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/update"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
)

func TestANetworkThatIsNotUpToDateSaysWhy(t *testing.T) {
	for phase, status := range map[wave.Phase]corev1beta1.ConditionStatus{
		wave.Pending: corev1beta1.ConditionFalse, wave.Progressing: corev1beta1.ConditionProgressing, wave.Failed: corev1beta1.ConditionFalse,
		wave.Succeeded: "", "": "",
	} {
		g := NewWithT(t)
		kept := &state.State{}
		if phase != "" {
			kept.Rollout = &wave.Record{Revision: "new", Phase: phase, Reason: "Example", Message: "an example"}
		}
		report, err := update.Source{}.Report(t.Context(), source.Input{Network: &extensionsv1alpha1.Network{}, State: kept})
		g.Expect(err).NotTo(HaveOccurred())
		if status == "" {
			g.Expect(report.Conditions).To(BeEmpty(), string(phase))
			continue
		}
		g.Expect(report.Conditions).To(Equal([]corev1beta1.Condition{{
			Type: extensionsv1alpha1.NetworkUpToDate, Status: status, Reason: "Example", Message: "an example",
		}}), string(phase))
	}
}
