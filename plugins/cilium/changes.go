// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// restarts begins the reason of changes that agents pick up by restarting. The
// programs that they have loaded into the kernel go on without them.
const restarts = "agents restart node after node, and traffic goes on meanwhile"

// changes has an entry for every value of NetworkConfig.
var changes = plugin.Meanings[v1alpha1.NetworkConfig]{
	"debug":                              {Class: plugin.Rolling, Reason: restarts},
	"kubeproxy.k8sServiceHost":           {Class: plugin.Safe, Reason: "only cilium-operator restarts"},
	"kubeproxy.k8sServicePort":           {Class: plugin.Safe, Reason: "only cilium-operator restarts"},
	"hubble.enabled":                     {Class: plugin.Rolling, Reason: restarts + "; flows that they have recorded are lost"},
	"tunnel":                             {Judge: changedEncapsulation},
	"store":                              {Class: plugin.Safe, Reason: "the field has no effect"},
	"ipv4.enabled":                       {Judge: changedIPv4},
	"ipv6.enabled":                       {Judge: changedIPv6},
	"bpfSocketLBHostnsOnly.enabled":      {Class: plugin.Rolling, Reason: restarts + "; only connections that pods open from then on are made in the other way"},
	"cni.exclusive":                      {Class: plugin.Rolling, Reason: restarts + "; pods that start from then on go through the other plugins as well, or no longer do"},
	"egressGateway.enabled":              {Judge: changedEgressGateway},
	"mtu":                                {Class: plugin.Rolling, Reason: restarts + "; pods that run may keep their MTU until they are started anew"},
	"devices":                            {Judge: changedDevices},
	"directRoutingDevice":                {Class: plugin.Disruptive, Reason: "nodes pass on packets to Services through another interface, and a connection that is open does not follow"},
	"loadBalancingMode":                  {Class: plugin.Disruptive, Reason: "connections from outside that are open break where another node than the pod's answers for the Service"},
	"l2Announcements.enabled":            {Judge: changedL2Announcements},
	"l2Announcements.leaseDuration":      {Class: plugin.Rolling, Reason: restarts},
	"l2Announcements.leaseRenewDeadline": {Class: plugin.Rolling, Reason: restarts},
	"l2Announcements.leaseRetryPeriod":   {Class: plugin.Rolling, Reason: restarts},
	"ipv4NativeRoutingCIDREnabled":       {Judge: changedNativeRouting},
	"ipv6NativeRoutingCIDREnabled":       {Judge: changedNativeRouting},
	"overlay.enabled":                    {Judge: changedOverlay},
	"overlay.createPodRoutes":            {Judge: changedPodRoutes},
	"snatToUpstreamDNS.enabled":          {Judge: changedMasquerader},
	"snatOutOfCluster.enabled":           {Judge: changedMasquerader},
	"enableIpv4Masquerade":               {Judge: changedIPv4Masquerade},
	"enableIpv6Masquerade":               {Judge: changedIPv6Masquerade},
	"enableBPFMasquerade":                {Judge: changedMasquerader},
	"bgpControlPlane.enabled":            {Judge: changedBGP},
	"policyAuditMode":                    {Judge: changedAuditMode},
	"encryption.enabled":                 {Judge: changedEncryption},
	"encryption.mode":                    {Judge: changedEncryption},
	"encryption.nodeToNodeEnabled":       {Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt what they send to each other as soon as both do"},
	"encryption.strictMode":              {Judge: changedEncryption},
}

// changedIPv4 and changedIPv6 judge that a family comes or goes.
func changedIPv4(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if hasIPv4(before) && !hasIPv4(after) {
		return plugin.Disruptive, familyGoes
	}
	return plugin.Rolling, restarts
}

func changedIPv6(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case hasIPv6(before) && !hasIPv6(after):
		return plugin.Disruptive, familyGoes
	case hasIPv6(after):
		return plugin.Rolling, restarts + "; pods that start from then on get an IPv6 address as well"
	}
	return plugin.Rolling, restarts
}

const familyGoes = "packets from and to the addresses of the family that goes are dropped, which pods keep until they are started anew"

func changedEncapsulation(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if encapsulationOf(before) == encapsulationOf(after) {
		return plugin.Rolling, restarts + "; packets between nodes travel as before"
	}
	return plugin.Disruptive, "packets between nodes travel in another way, and a node that has changed does not reach one that has not"
}

// changedOverlay also tells of a value that says what was so before. Strict mode goes by
// the value itself.
func changedOverlay(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	same := overlayOff(before) == overlayOff(after) || !isStrict(before) && !isStrict(after)
	if same && encapsulationOf(before) == encapsulationOf(after) {
		return plugin.Safe, "it only says, or no longer says, what is so anyway: packets between nodes travel as before"
	}
	return changedEncapsulation(before, after)
}

// encapsulationOf is empty of a config that another release wrote, and that lacks the
// value.
func encapsulationOf(c *v1alpha1.NetworkConfig) v1alpha1.TunnelMode {
	if c.TunnelMode == nil {
		return ""
	}
	return *c.TunnelMode
}

func changedNativeRouting(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if encapsulationOf(before) != encapsulationOf(after) {
		return changedEncapsulation(before, after)
	}
	if encapsulationOf(after) == v1alpha1.Disabled {
		return plugin.Disruptive, "packets between pods are masqueraded from then on, or no longer are, and connections that are open break"
	}
	return plugin.Rolling, restarts + "; packets between nodes are encapsulated as before"
}

func changedPodRoutes(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if createsPodRoutes(before) == createsPodRoutes(after) {
		return plugin.Safe, "the value only became explicit or ceased to be so"
	}
	return plugin.Disruptive, "somebody else makes the routes between nodes from then on, and the old ones go before all new ones are there"
}

// changedDevices takes no device for all that Cilium finds.
func changedDevices(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	stays := func(device string) bool {
		return slices.ContainsFunc(after.Devices, func(name string) bool { return includes(name, device) })
	}
	gone := slices.ContainsFunc(before.Devices, func(device string) bool { return !stays(device) })
	if len(after.Devices) > 0 && (len(before.Devices) == 0 || gone) {
		return plugin.Disruptive, "traffic of Services that comes in through an interface that is not listed any more is not handled"
	}
	return plugin.Rolling, restarts + "; no interface ceases to be handled"
}

// includes says whether a name stands for all interfaces that the other one stands for: a
// + at its end is any ending.
func includes(name, other string) bool {
	beginning, isPattern := strings.CutSuffix(name, "+")
	return name == other || isPattern && strings.HasPrefix(other, beginning)
}

func changedEgressGateway(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if after.EgressGateway != nil && after.EgressGateway.Enabled {
		return plugin.Rolling, restarts + "; connections that selected pods open from then on go through gateways"
	}
	return plugin.Disruptive, "connections through gateways break, and new ones come from the addresses of the pods' own nodes"
}

func changedL2Announcements(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if after.L2Announcements != nil && after.L2Announcements.Enabled {
		return plugin.Rolling, restarts
	}
	return plugin.Disruptive, "nobody answers any more for the addresses of Services that nodes announced"
}

func changedBGP(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if after.BGPControlPlane != nil && after.BGPControlPlane.Enabled {
		return plugin.Rolling, restarts
	}
	return plugin.Disruptive, "routers outside lose the routes that were announced to them"
}

func changedAuditMode(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if isTrue(after.PolicyAuditMode) {
		return plugin.Rolling, restarts + "; nobody enforces NetworkPolicies from then on"
	}
	return plugin.Disruptive, "NetworkPolicies block from then on what they only reported"
}

func changedEncryption(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case !isEncrypted(before) && !isEncrypted(after):
		return plugin.Safe, "nothing is encrypted, before or after"
	case isEncrypted(before) == isEncrypted(after) && isStrict(before) == isStrict(after):
		return plugin.Rolling, restarts + "; the same traffic is encrypted as before"
	case isStrict(after):
		return plugin.Disruptive, "a node that has changed drops what it would have to send in the clear to one that has not"
	case isStrict(before) && !isEncrypted(after):
		return plugin.Disruptive, "a node that has not changed drops what it would have to send in the clear to one that has"
	case isStrict(before):
		return plugin.Rolling, restarts + "; the same traffic is encrypted as before, and none is dropped any more where it cannot be"
	default:
		return plugin.Rolling, restarts + "; two nodes encrypt as soon as both do, and talk in the clear until then"
	}
}

func isEncrypted(c *v1alpha1.NetworkConfig) bool {
	return c.Encryption != nil && encryptsWithWireGuard(c)
}

func isStrict(c *v1alpha1.NetworkConfig) bool { return isEncrypted(c) && c.Encryption.StrictMode }
