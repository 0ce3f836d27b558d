// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/plugin"
)

// allShared is a config that brings every object that is shared.
const allShared = "{multus: {enabled: true}, birdExporter: {enabled: true}}"

func TestKindsAndRightsAreMadeOnce(t *testing.T) {
	g := NewWithT(t)
	first, second := networks.Objects(t, allShared).For(plugin.Shoot), networks.Objects(t, allShared).For(plugin.Shoot)
	g.Expect(second).To(HaveLen(len(first)))
	shared := 0
	for i, object := range first {
		if _, constant := object.(*plugin.Constant); constant {
			g.Expect(second[i]).To(BeIdenticalTo(object), object.GetName())
			shared++
			continue
		}
		g.Expect(second[i]).NotTo(BeIdenticalTo(object), object.GetName())
		g.Expect(object.GetObjectKind().GroupVersionKind().Kind).To(
			BeElementOf("DaemonSet", "Deployment", "ConfigMap", "ClusterRoleBinding"), object.GetName())
	}
	g.Expect(shared).To(BeNumerically(">", len(first)/2))
}
