// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/plugintest"
	"github.com/trellis-network/trellis/plugins/flannel"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/sandbox"
)

// What every plugin must fulfil is tested in package plugintest; the tests beside this one are
// about flannel.
func TestPromises(t *testing.T) {
	contract.Shows(t, "P2", "P3", "P4")
	server, err := clientcmd.BuildConfigFromFlags("", sandbox.ForTest(t, sandbox.Options{}).Seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Run(t, flannel.New(),
		plugintest.Case{Name: "VXLAN", Config: "{backend: {type: vxlan, port: 4789, vni: 7, directRouting: true}, mtu: 9000}"},
		plugintest.Case{Name: "routes", Config: "{backend: {type: host-gw}, mtu: 1400, nftables: true}"},
		plugintest.Case{Name: "routes of a cloud", Config: "backend: {type: host-gw}", In: func(f *plugin.Input) { f.Infrastructure.PodRoutes = true }},
		plugintest.Case{Name: "resources", Config: "resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}"},
		plugintest.Case{Name: "families", Config: "ipFamilies: [IPv4, IPv6]"},
		plugintest.NeedsKubeProxy(),
		plugintest.WithAPIServer(server),
	)
}
