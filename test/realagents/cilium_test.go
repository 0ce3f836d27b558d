// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Configs of Cilium's networks.
const (
	native    = "overlay: {enabled: false}"
	ciliumMTU = ", mtu: 1400"
)

const denyICMPByCilium = `
apiVersion: cilium.io/v2
kind: CiliumNetworkPolicy
metadata: {name: deny-icmp, namespace: default}
spec:
  endpointSelector: {matchLabels: {app: traffic}}
  enableDefaultDeny: {egress: false, ingress: false}
  egressDeny: [{icmps: [{fields: [{type: EchoRequest, family: IPv4}]}]}]
`

func TestPodsTalkThroughRealCilium(t *testing.T) {
	for _, each := range []struct {
		name    string
		network network
		// routed networks rely on routes that others make. changes are further configs of the running network.
		routed  bool
		changes []string
	}{
		{name: "Cilium, VXLAN", network: network{is: "cilium", config: "tunnel: vxlan"}, changes: []string{"tunnel: vxlan" + ciliumMTU}},
		{name: "Cilium, no encapsulation, routes by the router", routed: true, network: network{is: "cilium", config: native}, changes: []string{native + ciliumMTU}},
		{name: "Cilium without kube-proxy", network: network{is: "cilium", config: "tunnel: vxlan", withoutKubeProxy: true}},
	} {
		t.Run(each.name, func(t *testing.T) {
			result := begin(t, each.name)
			l := newLandscape(t, each.network)
			l.apply()
			if each.routed {
				l.Expect(l.shoot.MakeRoutes(t.Context())).To(Succeed())
			}
			l.becomesWell()
			result.well = time.Since(l.shoot.Applied)
			// cilium-operator makes the kinds of policies, so that those of Trellis come last.
			l.Eventually(func() error {
				_, err := l.shoot.Kubectl(t.Context(), "", "-n", "kube-system", "get", "ciliumnetworkpolicy", "gardener.cloud--allow-dns-from-remote-nodes")
				return err
			}).Should(Succeed())
			pods := l.senders()
			l.allReach(pods)
			l.networkPoliciesWork(pods[0], pods[1])
			l.manifest("apply", denyICMPByCilium)
			l.Eventually(func() error { return l.ping(pods[0], pods[1].addresses[0]) }).WithPolling(forgotten).ShouldNot(Succeed(), "CiliumNetworkPolicy denies")
			l.Expect(l.get(pods[0], url(pods[1].addresses[0], "8080"))).To(Succeed(), "and nothing else")
			l.manifest("delete", denyICMPByCilium)
			l.probesAreProtected(pods[0])
			for _, config := range each.changes {
				result.lost = append(result.lost, l.changeUnderLoad(config))
			}
			l.becomesWell()
			l.nothingIsForbidden()
			result.removed = l.remove()
			l.agentsAreGone()
			result.passed = true
		})
	}
}
