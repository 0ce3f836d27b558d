// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Classify returns the class and the reason that changePolicy has.
func (definition) Classify(c change) (plugin.ChangeClass, string) { return changePolicy.classify(c) }

const (
	withOverlay      = "with overlay"
	poolStays        = "the existing address pool does not change: calico-node creates one only if none exists"
	poolIsOverlays   = "the address pool that comes with overlay decides how packets travel, even if overlay.enabled is false"
	othersMakeRoutes = "another component creates the routes between nodes, and removes the old routes before all new ones exist"
	waitForCloud     = "a node may keep NetworkUnavailable=True (CalicoIsDown) of its former calico-node, and takes new pods only after the cloud's route controller has set the condition to False"
	travelsOtherwise = "packets between nodes travel in another way, and changed nodes do not reach unchanged ones"
	travelsAsBefore  = "packets between nodes travel as before"
	familyGoes       = "no route leads any more to the addresses of the family that goes, which pods keep until they restart"
	otherAddress     = "a node that detects another address than before is cut off until all others know the new one"
	neverEncapsulate = "IPv6 packets are never encapsulated, whatever the value"
	asBeforeUnless   = travelsAsBefore + ", unless ipv4.pool or ipv4.mode was changed since the network was made; in that case overlay.enabled now decides, and changed nodes may not reach unchanged ones"
)

// changePolicy has an entry for every value of NetworkConfig, and for the facts that reach
// calico-node. A network has a mode for each of its IP families, so a family comes or goes with
// a change of its mode.
var changePolicy = policy{
	"backend": {
		{Class: plugin.Disruptive, When: "if the cloud makes the routes from then on", If: func(c change) bool {
			return c.After.Config.Backend != nil && !ensuresCondition(c.After.Config, c.After.Input)
		}, Common: othersMakeRoutes, Reason: waitForCloud},
		{Class: plugin.Disruptive, Common: othersMakeRoutes},
	},
	"ipam.type": ipamRules,
	"ipam.cidr": {
		{Class: plugin.Safe, When: "if only the spelling changes, with both IP families", If: func(c change) bool {
			return sameRange(c) && isDualStack(c.Before.Config) && isDualStack(c.After.Config)
		}, Reason: "only the spelling changes, and with two IP families each node uses its own ranges"},
		{Restart: ofNode, When: "if only the spelling changes", If: sameRange, Reason: "only the spelling changes"},
		{Restart: ofNode, When: "with ipam.type: calico-ipam", If: func(c change) bool {
			return !takesRange(c.Before.Config) && !takesRange(c.After.Config)
		}, Reason: "calico-ipam ignores it"},
		{Class: plugin.Disruptive, Reason: "pods that start from then on get addresses of the other range, to which the routes between nodes may not lead"},
	},
	"ipv4.pool": {
		{Restart: ofNode, When: withOverlay, If: hasOverlayAfter, Reason: poolIsOverlays},
		{Restart: ofNode, Reason: poolStays},
	},
	"ipv4.mode": {
		{Class: plugin.Disruptive, When: "if the network loses IPv4", If: func(c change) bool {
			return hasIPv4(c.Before.Config) && !hasIPv4(c.After.Config)
		}, Reason: familyGoes},
		{Restart: ofNode, When: withOverlay, If: hasOverlayAfter, Reason: poolIsOverlays},
		{Restart: ofNode, Reason: poolStays},
	},
	"ipv4.autoDetectionMethod": {{Restart: ofNode, Reason: otherAddress}},
	"ipv6.pool":                {{Restart: ofNode, Reason: neverEncapsulate}},
	"ipv6.mode": {
		{Class: plugin.Disruptive, When: "if the network loses IPv6", If: func(c change) bool {
			return hasIPv6(c.Before.Config) && !hasIPv6(c.After.Config)
		}, Reason: familyGoes},
		{Class: plugin.Disruptive, When: "if the network gets IPv6 while IPv4 packets travel through IP-in-IP", If: func(c change) bool {
			return getsIPv6(c) && losesIPIP(c.Before.Config)
		}, Reason: "Felix takes IP-in-IP down, through which IPv4 packets travel between nodes; write overlay.enabled: false first"},
		{Restart: ofNode, When: "if the network gets IPv6", If: getsIPv6, Reason: "pods that start from then on get an IPv6 address as well"},
		{Restart: ofNode, Reason: neverEncapsulate},
	},
	"ipv6.autoDetectionMethod": {{Restart: ofNode, Reason: otherAddress}},
	"ipv6.sourceNATEnabled": {
		{Restart: ofNode, When: "if the network gets or loses IPv6", If: func(c change) bool {
			return !hasIPv6(c.Before.Config) || !hasIPv6(c.After.Config)
		}, Reason: "the value comes and goes with IPv6"},
		{Restart: ofNode, When: "if switched on", If: func(c change) bool { return masquerades(c.After.Config) },
			Reason: "connections that pods open to the outside from then on come from their node's address"},
		{Class: plugin.Disruptive, Reason: "pods' connections to the outside come from their own addresses from then on, to which no answer may find the way"},
	},
	"typha.enabled": {{Restart: ofNode, Reason: "it then watches the API server through Typha, or no longer does"}},
	"vethMTU": {
		{Class: plugin.Safe, When: "if only the spelling changes", If: func(c change) bool {
			before, after := c.Before.Config, c.After.Config
			return before.VethMTU != nil && after.VethMTU != nil && mtuOf(before) == mtuOf(after)
		}, Reason: "only the spelling changes"},
		{Restart: ofNode, Reason: "only pods that start from then on get the new MTU"},
	},
	"ebpfDataplane.enabled": {{Class: plugin.Disruptive, Reason: "open connections break, since the other dataplane does not know them"}},
	"overlay.enabled": {
		{Class: plugin.Disruptive, When: "if overlay goes", If: func(c change) bool {
			return c.After.Config.Overlay == nil && hasIPv4(c.Before.Config)
		}, Reason: "the address pools that come with overlay are removed, and pods are cut off until calico-node has made one; write overlay.enabled instead"},
		{Class: plugin.Disruptive, When: "if packets travel in another way", If: func(c change) bool {
			return encapsulationChanges(c) || overlayOn(c.After.Config) && onlyCrossSubnet(c.Before.Config)
		}, Reason: travelsOtherwise},
		{Class: plugin.Rolling, When: "if overlay comes and is on", If: func(c change) bool { // without new variables for calico-node
			return overlayComes(c) && overlayOn(c.After.Config)
		}, Reason: "the address pool that calico-node made becomes one that is stated; " + asBeforeUnless},
		{Restart: ofNode, When: "if overlay comes", If: overlayComes, Reason: asBeforeUnless},
		{Restart: ofNode, Reason: travelsAsBefore},
	},
	"overlay.createPodRoutes": {
		{Class: plugin.Safe, When: "if the value only becomes explicit, or ceases to be so", If: func(c change) bool {
			return createsPodRoutes(c.Before.Config) == createsPodRoutes(c.After.Config)
		}, Reason: "the value only became explicit or ceased to be so"},
		{Class: plugin.Disruptive, When: "if packets travel in another way", If: encapsulationChanges, Reason: travelsOtherwise},
		{Restart: ofNode, When: "if BIRD makes the routes before and after", If: func(c change) bool {
			return usesBIRD(c.Before.Config) && usesBIRD(c.After.Config)
		}, Reason: "BIRD still creates the routes"},
		{Class: plugin.Disruptive, Reason: othersMakeRoutes},
	},
	"snatToUpstreamDNS.enabled": {{Restart: ofNode, Reason: "what was masqueraded stays so until the node is replaced"}},
	"autoScaling.mode":          {{Restart: withRequests}},
	"autoScaling.resources":     {{Restart: withRequests}},
	// Without overlay the value reaches the same variables as ipv4.pool and ipv4.mode. What
	// Felix reads about tunnels stays the same.
	"vxlan.enabled": {
		{Class: plugin.Safe, When: "with IPv6 alone", If: func(c change) bool {
			before, after := c.Before.Config, c.After.Config
			return onlyIPv6(before) && onlyIPv6(after) && !overlayOn(before) && !overlayOn(after)
		}, Reason: "VXLAN is for IPv4, which the network does not have"},
		{Restart: ofNode, When: "without overlay", If: func(c change) bool {
			return c.Before.Config.Overlay == nil && c.After.Config.Overlay == nil && hasIPv4(c.After.Config)
		}, Reason: poolStays},
		{Class: plugin.Disruptive, When: "if packets travel in another way", If: encapsulationChanges, Reason: travelsOtherwise},
		{Restart: ofNode, Reason: travelsAsBefore},
	},
	"wireguardEncryption": {{Restart: ofNode, Reason: "two nodes encrypt once both have changed, and communicate unencrypted until then"}},
	"birdExporter.enabled": {
		{Class: plugin.Safe, When: "if the exporter does not run, since calico-node is unprivileged", If: func(c change) bool {
			return exports(c.Before) == exports(c.After)
		}, Reason: "only the exporter's Service comes or goes: the exporter does not run, since calico-node is unprivileged"},
		{Restart: ofNode, Reason: "the exporter is a container of it"},
	},
	"multus.enabled": {
		{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
			return c.After.Config.Multus != nil && c.After.Config.Multus.Enabled
		}, Reason: "pods that start from then on go through Multus, and those that run keep their networks"},
		{Class: plugin.Disruptive, Reason: "pods with further networks cannot start without Multus, and every NetworkAttachmentDefinition that users wrote is deleted with the kind, CustomResourceDefinition network-attachment-definitions.k8s.cni.cncf.io"},
	},
	"multus.installCNIPlugins": {{Class: plugin.Rolling, Reason: "Multus restarts node by node, and pods that start on a node meanwhile get no further networks; installed plugins stay on the nodes"}},
	"serviceLoopPrevention":    {{Restart: ofNode}},
	"ipip":                     {{Class: plugin.Safe, Reason: "the field is deprecated and has no effect"}},
	"ipAutodetectionMethod":    {{Class: plugin.Safe, Reason: "the field is deprecated and has no effect"}},

	string(plugin.FactKubeProxy): {
		{Restart: ofNode, When: "with eBPF", If: func(c change) bool {
			return usesEBPF(c.Before.Config) && usesEBPF(c.After.Config)
		}, Reason: "eBPF handles packets to Services, with or without kube-proxy"},
		{Class: plugin.Disruptive, Reason: "Services are handled by another component, which does not know open connections"},
	},
	string(plugin.FactKubeProxyMode): {
		{Class: plugin.Disruptive, When: "to or from NFTables", If: func(c change) bool {
			return usesNFTables(c.Before.Input) != usesNFTables(c.After.Input)
		}, Reason: "kube-proxy and Felix rewrite their rules independently; until both have finished, packets to Services and packets that policies allow may be lost"},
	},
	// The rules are about pool no-snat-for-node-cidr. Nodes also look for their address in the
	// range, but that is a change of ipv4.autoDetectionMethod.
	string(plugin.FactNodeRange): {
		{Class: plugin.Safe, When: "if there was no range", If: func(c change) bool {
			was, _, changes := unmasqueradedRanges(c)
			return changes && was == ""
		}, Reason: "nodes of the range see the addresses of pods that connect to them from then on"},
		{Class: plugin.Safe, When: "if the range goes", If: func(c change) bool {
			_, is, changes := unmasqueradedRanges(c)
			return changes && is == ""
		}, Reason: masqueradedFromThenOn},
		{Class: plugin.Safe, When: "if there is another range", If: func(c change) bool {
			_, _, changes := unmasqueradedRanges(c)
			return changes
		}, Reason: masqueradedFromThenOn + " where they are not of the new one as well, whose nodes see the pods' addresses"},
	},
	string(plugin.FactPodRanges): {
		{Restart: ofNode, When: "if the IPv6 range changes", If: func(c change) bool {
			return hasIPv6(c.Before.Config) && hasIPv6(c.After.Config) && podRangeIPv6(c.Before.Input) != podRangeIPv6(c.After.Input)
		}, Reason: "what pods send within the new IPv6 range is not masqueraded"},
		{Restart: ofNode, When: "if the IPv4 range changes", If: func(c change) bool {
			return hasIPv4(c.Before.Config) && hasIPv4(c.After.Config) && podRangeIPv4(c.Before.Input) != podRangeIPv4(c.After.Input)
		}, Reason: "what pods send within the new IPv4 range is not masqueraded"},
	},
}

const masqueradedFromThenOn = "what pods send to nodes of the old range is masqueraded from then on"

const keepAddresses = "pods that run keep addresses which the other IPAM does not know of and would give to others"

// ipamRules use the IP families that the user wants, even while only the first is deployed.
var ipamRules = []rule{
	{Class: plugin.Disruptive, When: "if the former type is not known", If: func(c change) bool { // as only a damaged status has it
		before := c.Before.Config.IPAM
		return c.After.Config.IPAM != nil && (before == nil || before.Type == "")
	}, Reason: "it is not known which IPAM gave pods their addresses; if it was another, this one may give addresses of pods that run to others"},
	{Class: plugin.Forbidden, When: "if vxlan.enabled becomes true", If: func(c change) bool {
		return isOn(c.After.Config.VXLAN) && !isOn(c.Before.Config.VXLAN)
	}, Common: keepAddresses, Reason: "VXLAN brings calico-ipam with it, so leave vxlan and overlay as they were, or create a new cluster"},
	{Class: plugin.Forbidden, When: "if vxlan.enabled becomes false and overlay.enabled changes, or the infrastructure makes the routes from then on", If: func(c change) bool {
		// The user could write calico-ipam, but clouds make no routes to its addresses.
		return vxlanGoes(c) && (overlayGoes(c.Before.Config, c.After.Config) || reliesOnCloud(c.After.Config, c.After.Input))
	}, Common: keepAddresses, Reason: "leave vxlan and overlay as they were, or create a new cluster"},
	{Class: plugin.Forbidden, When: "if vxlan.enabled becomes false, with IPv6", If: func(c change) bool {
		return vxlanGoes(c) && wantsIPv6(c.After.Input)
	}, Common: keepAddresses, Reason: "leave vxlan as it was, or create a new cluster"},
	{Class: plugin.Forbidden, When: "if vxlan.enabled becomes false", If: vxlanGoes, Common: keepAddresses, Reason: "keep it by writing ipam.type: calico-ipam"},
	{Class: plugin.Forbidden, When: "if a network with calico-ipam gets IPv6", If: func(c change) bool {
		return wantsIPv6(c.After.Input) && c.Before.Config.IPAM != nil && c.Before.Config.IPAM.Type == v1alpha1.CalicoIPAM
	}, Common: keepAddresses, Reason: "stay with IPv4 and calico-ipam, or create a new cluster"},
	{Class: plugin.Forbidden, Common: keepAddresses, Reason: "go back to the former type, or create a new cluster"},
}
