// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// objects returns a network's objects as the pipeline hands them out.
func objects(t *testing.T, config string, options ...option) []plugin.Object {
	t.Helper()
	all := networks.Objects(t, config, options...)
	return slices.Concat(all.Shoot, all.ShootLater, all.Seed)
}

func TestWhatNeverChangesIsMadeOnce(t *testing.T) {
	g := NewWithT(t)
	first, second := objects(t, everywhere, everyFact...), objects(t, everywhere, everyFact...)
	var own []string
	for i, object := range first {
		if _, constant := object.(*plugin.Constant); constant {
			g.Expect(second[i]).To(BeIdenticalTo(object), object.GetName())
			continue
		}
		g.Expect(second[i]).NotTo(BeIdenticalTo(object), object.GetName())
		own = append(own, shown(object))
	}
	g.Expect(own).To(ConsistOf(slices.Concat([]string{
		"ConfigMap cilium-config", "DaemonSet cilium", "DaemonSet cilium-envoy", "Deployment cilium-operator",
		"Deployment hubble-relay", "Deployment hubble-ui", "Job hubble-generate-certs", "CronJob hubble-generate-certs",
	}, inSeed)))
}
