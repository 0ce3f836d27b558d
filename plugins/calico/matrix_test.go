// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// row is a row of the two matrices that say what combinations of overlay, vxlan,
// backend, pool and mode come to. An empty value means that the variable is
// absent.
type row struct {
	name, config string
	families     option

	backend              string
	poolIPIP, poolVXLAN  string
	poolIPv6             string
	felixIPIP, felixVXLN string
	ipam                 string
	pool                 string // ipipMode/vxlanMode of default-ipv4-ippool
	ipv6Pool             string // the same of default-ipv6-ippool, and natOutgoing
	noSNATPool           bool
	kubeControllers      bool
	cleanupRoutes        bool
	snat                 bool
	ensurer              bool
	birdProbes           bool
}

var matrix = []row{
	{name: "A1 nothing", backend: "bird", poolIPIP: "Always", felixIPIP: "true", ipam: "host-local", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A2 overlay", config: "overlay: {enabled: true}",
		backend: "bird", poolIPIP: "Always", felixIPIP: "true", ipam: "host-local", pool: "Always/Never", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A3 overlay with VXLAN", config: "{overlay: {enabled: true}, vxlan: {enabled: true}}",
		backend: "vxlan", poolIPIP: "Never", poolVXLAN: "Always", felixVXLN: "true", ipam: "calico-ipam", pool: "Never/Always", kubeControllers: true, ensurer: true},
	{name: "A4 overlay with a VXLAN pool only", config: "{overlay: {enabled: true}, ipv4: {pool: vxlan}}",
		backend: "bird", poolVXLAN: "Always", felixIPIP: "true", ipam: "host-local", pool: "Always/Never", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A5 overlay takes precedence over backend and mode", config: "{overlay: {enabled: true}, backend: none, ipv4: {mode: CrossSubnet}}",
		backend: "bird", poolIPIP: "Always", felixIPIP: "true", ipam: "host-local", pool: "Always/Never", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A6 no overlay", config: "overlay: {enabled: false}",
		backend: "none", poolIPIP: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "A7 no overlay, Calico's routes", config: "overlay: {enabled: false, createPodRoutes: true}",
		backend: "bird", poolIPIP: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", noSNATPool: true, kubeControllers: true, cleanupRoutes: true, snat: true, ensurer: true, birdProbes: true},
	{name: "A8 no overlay, but VXLAN", config: "{overlay: {enabled: false}, vxlan: {enabled: true}}",
		backend: "none", poolVXLAN: "Never", felixIPIP: "false", ipam: "calico-ipam", pool: "Never/Never", noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "A9 no overlay, no SNAT", config: "{overlay: {enabled: false}, snatToUpstreamDNS: {enabled: false}}",
		backend: "none", poolIPIP: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", noSNATPool: true, cleanupRoutes: true},
	{name: "A10 VXLAN alone", config: "vxlan: {enabled: true}",
		backend: "bird", poolVXLAN: "Always", felixIPIP: "true", ipam: "calico-ipam", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A11 backend none alone", config: "backend: none",
		backend: "none", poolIPIP: "Never", felixIPIP: "false", ipam: "host-local"},
	{name: "A12 backend vxlan alone", config: "backend: vxlan",
		backend: "vxlan", poolIPIP: "Always", felixIPIP: "true", ipam: "host-local", kubeControllers: true, ensurer: true},
	{name: "A13 mode alone", config: "ipv4: {mode: CrossSubnet}",
		backend: "bird", poolIPIP: "CrossSubnet", felixIPIP: "true", ipam: "host-local", kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "A14 backend none with a mode", config: "{backend: none, ipv4: {mode: Always}}",
		backend: "none", poolIPIP: "Always", felixIPIP: "false", ipam: "host-local"},
	{name: "A15 calico-ipam", config: "ipam: {type: calico-ipam}",
		backend: "bird", poolIPIP: "Always", felixIPIP: "true", ipam: "calico-ipam", kubeControllers: true, ensurer: true, birdProbes: true},

	{name: "B1 IPv6", families: ipv6Only,
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6},
	{name: "B2 IPv6 without overlay", families: ipv6Only, config: "overlay: {enabled: false}",
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6, cleanupRoutes: true, snat: true},
	{name: "B3 IPv6 with overlay", families: ipv6Only, config: "overlay: {enabled: true}",
		backend: "bird", poolIPv6: "Always", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6, kubeControllers: true, ensurer: true, birdProbes: true},

	{name: "C1 dual-stack", families: dualStack,
		backend: "none", poolIPIP: "Never", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6},
	{name: "C2 dual-stack without overlay", families: dualStack, config: "overlay: {enabled: false}",
		backend: "none", poolIPIP: "Never", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", ipv6Pool: nativeIPv6,
		noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "C3 dual-stack with overlay", families: dualStack, config: "overlay: {enabled: true}",
		backend: "bird", poolIPIP: "Always", poolIPv6: "Always", felixIPIP: "false", ipam: "host-local", pool: "Always/Never", ipv6Pool: nativeIPv6,
		kubeControllers: true, ensurer: true, birdProbes: true},
	{name: "C4 dual-stack with VXLAN", families: dualStack, config: "{overlay: {enabled: true}, vxlan: {enabled: true}}",
		backend: "vxlan", poolIPIP: "Never", poolVXLAN: "Always", poolIPv6: "Always", felixVXLN: "true", ipam: "calico-ipam", pool: "Never/Always", ipv6Pool: nativeIPv6,
		kubeControllers: true, ensurer: true},

	// What follows from the rules and is in no table.
	{name: "D1 dual-stack, a backend without overlay", families: dualStack, config: "backend: bird",
		backend: "none", poolIPIP: "Never", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6},
	{name: "D2 dual-stack, the mode of IPv4 stays the user's", families: dualStack, config: "{overlay: {enabled: false}, ipv4: {mode: CrossSubnet}}",
		backend: "none", poolIPIP: "CrossSubnet", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", ipv6Pool: nativeIPv6,
		noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "D3 dual-stack, the mode of IPv6 does not", families: dualStack, config: "{overlay: {enabled: false}, ipv6: {mode: Always}}",
		backend: "none", poolIPIP: "Never", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", ipv6Pool: nativeIPv6,
		noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "D4 dual-stack, VXLAN without overlay", families: dualStack, config: "{overlay: {enabled: false}, vxlan: {enabled: true}}",
		backend: "none", poolVXLAN: "Always", poolIPv6: "Never", felixIPIP: "false", ipam: "calico-ipam", pool: "Never/Never", ipv6Pool: nativeIPv6,
		noSNATPool: true, cleanupRoutes: true, snat: true},
	{name: "D5 dual-stack, Calico's routes", families: dualStack, config: "overlay: {enabled: false, createPodRoutes: true}",
		backend: "bird", poolIPIP: "Never", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", pool: "Never/Never", ipv6Pool: nativeIPv6,
		noSNATPool: true, kubeControllers: true, cleanupRoutes: true, snat: true, ensurer: true, birdProbes: true},
	{name: "D6 IPv6, NAT", families: ipv6Only, config: "ipv6: {sourceNATEnabled: true}",
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: "Never/Never/true"},
	{name: "D7 IPv6, WireGuard", families: ipv6Only, config: "wireguardEncryption: true",
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: "Never/Never/true"},
	{name: "D8 IPv6, WireGuard without NAT", families: ipv6Only, config: "{wireguardEncryption: true, ipv6: {sourceNATEnabled: false}}",
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6},
	{name: "D9 IPv6, a VXLAN that there is not", families: ipv6Only, config: "vxlan: {enabled: true}",
		backend: "none", poolIPv6: "Never", felixIPIP: "false", ipam: "host-local", ipv6Pool: nativeIPv6},
}

const nativeIPv6 = "Never/Never/false"

// build builds the network of a row.
func (r row) build(t *testing.T) *network {
	t.Helper()
	return build(t, r.config, r.families)
}

// expect fails unless a network is as the row says.
func (r row) expect(n *network) {
	n.T.Helper()
	got := observe(n)
	got.name, got.config, r.families = r.name, r.config, nil // no object tells
	NewWithT(n.T).Expect(got).To(Equal(r))
}

func TestMatrixOfOverlayBackendAndPool(t *testing.T) {
	for _, want := range matrix {
		t.Run(want.name, func(t *testing.T) { want.expect(want.build(t)) })
	}
}

// observe reads a row off a network.
func observe(n *network) row {
	env := n.env("calico-node")
	pod := n.node().Spec.Template.Spec
	inits, containers := names(pod.InitContainers), names(pod.Containers)
	probe := n.container("calico-node").ReadinessProbe.Exec.Command
	got := row{
		backend:         n.data("calico-config")["calico_backend"],
		poolIPIP:        env["CALICO_IPV4POOL_IPIP"],
		poolVXLAN:       env["CALICO_IPV4POOL_VXLAN"],
		poolIPv6:        env["CALICO_IPV6POOL_VXLAN"],
		felixIPIP:       env["FELIX_IPINIPENABLED"],
		felixVXLN:       env["FELIX_VXLANENABLED"],
		ipam:            cniPlugin(n)["ipam"].(map[string]any)["type"].(string),
		noSNATPool:      n.has("IPPool", "no-snat-for-node-cidr"),
		kubeControllers: n.has("Deployment", "calico-kube-controllers"),
		cleanupRoutes:   inits[0] == "cleanup-routes",
		snat:            containers[0] == "add-snat-rule-to-upstream-dns" && env["FELIX_CHAININSERTMODE"] == "Append",
		ensurer:         slices.Contains(containers, "network-unavailable-condition-ensurer"),
		birdProbes:      slices.Contains(probe, "-bird-ready"),
	}
	if n.has("IPPool", "default-ipv4-ippool") {
		spec := n.Spec("IPPool", "default-ipv4-ippool")
		got.pool = spec["ipipMode"].(string) + "/" + spec["vxlanMode"].(string)
	}
	if n.has("IPPool", "default-ipv6-ippool") {
		spec := n.Spec("IPPool", "default-ipv6-ippool")
		got.ipv6Pool = fmt.Sprintf("%v/%v/%v", spec["ipipMode"], spec["vxlanMode"], spec["natOutgoing"])
	}
	return got
}

// cniPlugin returns Calico's part of the CNI configuration.
func cniPlugin(n *network) map[string]any {
	n.T.Helper()
	return cniPlugins(n)[0].(map[string]any)
}

func cniPlugins(n *network) []any {
	n.T.Helper()
	var list map[string]any
	document := strings.Replace(n.data("calico-config")["cni_network_config"], "__CNI_MTU__", "1440", 1)
	NewWithT(n.T).Expect(json.Unmarshal([]byte(document), &list)).To(Succeed())
	return list["plugins"].([]any)
}

func TestUsePodCIDRGoesWithHostLocal(t *testing.T) {
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			n := each.build(t)
			want := ""
			if each.ipam == "host-local" {
				want = "true"
			}
			g.Expect(n.env("calico-node")["USE_POD_CIDR"]).To(Equal(want))
			g.Expect(envOf(t, typhaContainer(n))["USE_POD_CIDR"]).To(Equal(want))
		})
	}
}

func TestKubeControllersAreThereOrGoneAsAWhole(t *testing.T) {
	for _, each := range matrix {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			n := each.build(t)
			for _, kind := range []string{"Deployment", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "PodDisruptionBudget"} {
				g.Expect(n.has(kind, "calico-kube-controllers")).To(Equal(each.kubeControllers), kind)
			}
			components := map[string]bool{}
			for _, component := range n.Objects.Components {
				components[component.Name] = true
			}
			g.Expect(components).To(And(HaveKey("calicoNodes"), HaveKey("typha")))
			g.Expect(components["kubeControllers"]).To(Equal(each.kubeControllers))
		})
	}
}
