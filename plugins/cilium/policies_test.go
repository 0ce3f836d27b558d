// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatPoliciesLetThrough(t *testing.T) {
	n := build(t, hubbleEnabled, withNodeLocalDNS)
	const policy = "CiliumNetworkPolicy"
	for _, test := range []struct{ kind, name, spec string }{
		{policy, "gardener.cloud--allow-dns-from-remote-nodes", `{
			"endpointSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]}, "enableDefaultDeny": {"ingress": false},
			"ingress": [{"fromEntities": ["remote-node"], "toPorts": [{"ports": [
				{"port": "8053", "protocol": "TCP"}, {"port": "8053", "protocol": "UDP"}]}]}]}`},
		{"CiliumLocalRedirectPolicy", "nodelocaldns", `{
			"redirectFrontend": {"serviceMatcher": {"serviceName": "kube-dns", "namespace": "kube-system"}},
			"redirectBackend": {"localEndpointSelector": {"matchLabels": {"k8s-app": "node-local-dns"}}, "toPorts": [
				{"port": "53", "name": "dns", "protocol": "UDP"}, {"port": "53", "name": "dns-tcp", "protocol": "TCP"}]}}`},
		{"CiliumClusterwideNetworkPolicy", "nodelocaldns", `{
			"endpointSelector": {"matchLabels": {"k8s:io.kubernetes.pod.namespace": "kube-system", "k8s-app": "node-local-dns"}},
			"ingress": [{"fromEndpoints": [{}], "toPorts": [{"ports": [
				{"port": "53", "protocol": "TCP"}, {"port": "53", "protocol": "UDP"}, {"port": "9253", "protocol": "TCP"}, {"port": "9353", "protocol": "TCP"}]}]}]}`},
		{policy, "gardener.cloud--allow-hubble-relay-from-hubble-ui", `{
			"endpointSelector": {"matchLabels": {"k8s-app": "hubble-relay"}},
			"ingress": [{"fromEndpoints": [{"matchLabels": {"k8s-app": "hubble-ui"}}], "toPorts": [{"ports": [{"port": "4245", "protocol": "TCP"}]}]}]}`},
		{policy, "gardener.cloud--allow-hubble-ui-to-hubble-relay", `{
			"endpointSelector": {"matchLabels": {"k8s-app": "hubble-ui"}}, "enableDefaultDeny": {"egress": false},
			"egress": [{"toEndpoints": [{"matchLabels": {"k8s-app": "hubble-relay"}}], "toPorts": [{"ports": [{"port": "4245", "protocol": "TCP"}]}]}]}`},
		{policy, "gardener.cloud--allow-hubble-relay-to-peers", `{
			"endpointSelector": {"matchLabels": {"k8s-app": "hubble-relay"}}, "enableDefaultDeny": {"egress": false},
			"egress": [{"toEntities": ["cluster"], "toPorts": [{"ports": [{"port": "4244", "protocol": "TCP"}]}]}]}`},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			NewWithT(t).Expect(json.Marshal(n.Spec(test.kind, test.name))).To(MatchJSON(test.spec))
		})
	}
}

func TestThePolicyThatAllNetworksHaveSaysWhatItIsFor(t *testing.T) {
	policy := build(t, "").Objects.In(bundleName + "-later")[0]
	NewWithT(t).Expect(policy.GetAnnotations()).To(HaveKeyWithValue("gardener.cloud/description", Not(BeEmpty())))
}
