// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/trellis-network/trellis/plugin/plugintest"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// What every plugin must fulfil is tested in package plugintest; the tests beside this one are
// about Cilium.
func TestPromises(t *testing.T) {
	contract.Shows(t, "P2", "P3", "P4")
	server, err := clientcmd.BuildConfigFromFlags("", landscape.Get(t).Seed.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Run(t, cilium.New(),
		plugintest.Case{Name: "overlay", Config: "{overlay: {enabled: true}, hubble: {enabled: true}, tunnel: geneve}"},
		plugintest.Case{Name: "no overlay", Config: "{overlay: {enabled: false}, policyAuditMode: true, devices: [eth0]}"},
		plugintest.Case{Name: "routes of its own", Config: "{overlay: {enabled: false, createPodRoutes: true}, bgpControlPlane: {enabled: true}}"},
		plugintest.Case{Name: "egress gateway", Config: "{overlay: {enabled: true}, egressGateway: {enabled: true}, l2Announcements: {enabled: true}}"},
		plugintest.Case{Name: "encryption", Config: "{encryption: {enabled: true, mode: wireguard, strictMode: true}, snatToUpstreamDNS: {enabled: true}}"},
		plugintest.Case{Name: "strict encryption without overlay", Config: "{overlay: {enabled: false}, encryption: {enabled: true, mode: wireguard, strictMode: true}}"},
		plugintest.Case{Name: "strict encryption without tunnel", Config: "{tunnel: disabled, ipv4NativeRoutingCIDREnabled: true, encryption: {enabled: true, mode: wireguard, strictMode: true}}"},
		plugintest.Case{Name: "masquerades IPv6", Config: "enableIpv6Masquerade: true"},
		plugintest.WithWildcard("ClusterRole hubble-ui", "the UI shows whatever of Cilium is in the cluster, and never writes"),
		plugintest.WithMissing("ClusterRole hubble-relay", "Cilium's own binding names a role that it never had; with the role there it would give rights"),
		plugintest.WithMissing("ClusterRole hubble-generate-certs", "Cilium's own binding names a role that it never had; with the role there it would give rights"),
		plugintest.WithAPIServer(server),
	)
}
