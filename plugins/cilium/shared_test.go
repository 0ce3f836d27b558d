// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// The names of the network's ManagedResources.
const (
	bundleName        = "extension-networking-cilium-config"
	admissionResource = "extension-cilium-shoot-webhooks"
)

// objects returns a network's objects as the pipeline hands them out.
func objects(t *testing.T, config string, options ...option) []plugin.Object {
	t.Helper()
	all := networks.Objects(t, config, options...)
	return slices.Concat(all.In(bundleName), all.In(bundleName+"-later"), all.For(plugin.Seed))
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
