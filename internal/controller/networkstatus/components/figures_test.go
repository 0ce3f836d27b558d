// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Each pod changes the figures, but not each may cost a write.
func TestFiguresOfARollOutAreToldEveryTenSeconds(t *testing.T) {
	g := NewWithT(t)
	s := &Source{}
	for _, step := range []struct {
		after         time.Duration
		agent, others int32 // nodes that have the latest version, of 100; -1 if no roll-out goes on
		told          int32
		again         time.Duration
	}{
		{0, 1, -1, 1, 0},
		{time.Second, 1, -1, 1, 0},
		{3 * time.Second, 2, -1, 1, 7 * time.Second},
		{10 * time.Second, 3, -1, 3, 0},
		{12 * time.Second, 4, -1, 3, 8 * time.Second},
		{13 * time.Second, 4, 0, 4, 0}, // another roll-out
		{14 * time.Second, 5, -1, 5, 0},
		{15 * time.Second, -1, -1, -1, 0},
		{16 * time.Second, 50, -1, 50, 0},
		{-time.Hour, 51, -1, 51, 0}, // the clock was set
	} {
		seen := map[string]extensionsv1alpha1.Rollout{}
		for name, updated := range map[string]int32{"agent": step.agent, "others": step.others} {
			if updated >= 0 {
				seen[name] = extensionsv1alpha1.Rollout{Nodes: 100, Updated: updated}
			}
		}
		told, again := s.pace(at(step.after), seen)
		if step.told < 0 {
			g.Expect(told).To(BeEmpty(), "%+v", step)
		} else {
			g.Expect(told["agent"].Updated).To(Equal(step.told), "%+v", step)
			g.Expect(told).To(HaveLen(len(seen)))
		}
		g.Expect(again).To(Equal(step.again), "%+v", step)
	}
}
