// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
)

// The resource manager of these tests applies the network itself and never the probe.
func TestANetworkSucceedsWithoutItsProbe(t *testing.T) {
	e := setup(t, func(options *network.Options) { options.Probe = &plugin.Probe{} })
	n := e.finished()
	e.Expect(e.names()).To(ConsistOf(mainName, probe.BundleName))
	e.Expect(len(e.requests.All())).To(BeNumerically("<=", 7), "three for the Network, and two for each bundle")
	e.requests.Forget()

	e.patch(n, func(n *extensionsv1alpha1.Network) {
		n.Annotations = map[string]string{extensionsv1alpha1.ProbeAnnotation: "false"}
		withConfig(`{"backend":"wool"}`)(n)
	})
	e.Eventually(e.names).Should(ConsistOf(mainName))
	e.applied()
	e.becomes(n, again, fine)
}
