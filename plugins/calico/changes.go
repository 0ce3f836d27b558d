// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// restarts begins the reason of changes that calico-node picks up by restarting.
// What Felix has set up goes on without it, but see changedIn.
const restarts = "calico-node restarts node after node, " + goesOn

const goesOn = "and traffic goes on meanwhile"

const requestsChange = "calico-node and Typha may restart one after the other with other requests, " + goesOn

// poolStays is so without overlay, whatever becomes of the values that calico-node makes
// its pool by.
const poolStays = restarts + "; the address pool that is there stays as it is, since calico-node makes one only where there is none"

// changes has an entry for every value of NetworkConfig; an entry for a block is
// for all values in it.
var changes = plugin.Meanings[v1alpha1.NetworkConfig]{
	"backend":                   {Class: plugin.Disruptive, Reason: othersMakeRoutes},
	"ipam.type":                 {Judge: changedIPAM},
	"ipam.cidr":                 {Judge: changedRange},
	"ipv4.pool":                 {Judge: changedIPv4Pool},
	"ipv4.mode":                 {Judge: changedIPv4Mode},
	"ipv4.autoDetectionMethod":  {Class: plugin.Rolling, Reason: restarts + "; a node that finds another address than before is cut off until all others know it"},
	"ipv6.pool":                 {Class: plugin.Rolling, Reason: restarts + "; IPv6 packets travel as they are whatever it says"},
	"ipv6.mode":                 {Judge: changedIPv6Mode},
	"ipv6.autoDetectionMethod":  {Class: plugin.Rolling, Reason: restarts + "; a node that finds another address than before is cut off until all others know it"},
	"ipv6.sourceNATEnabled":     {Judge: changedSourceNAT},
	"typha.enabled":             {Class: plugin.Rolling, Reason: restarts + "; it then watches the API server through Typha, or no longer does"},
	"vethMTU":                   {Judge: changedMTU},
	"ebpfDataplane.enabled":     {Class: plugin.Disruptive, Reason: "connections that are open break, since the other dataplane does not know them"},
	"overlay.enabled":           {Judge: changedOverlay},
	"overlay.createPodRoutes":   {Judge: changedPodRoutes},
	"snatToUpstreamDNS.enabled": {Class: plugin.Rolling, Reason: restarts + "; what was masqueraded stays so until the node is replaced"},
	"autoScaling.mode":          {Class: plugin.Rolling, Reason: requestsChange},
	"autoScaling.resources":     {Class: plugin.Rolling, Reason: requestsChange},
	"vxlan.enabled":             {Judge: changedVXLAN},
	"wireguardEncryption":       {Class: plugin.Rolling, Reason: restarts + "; two nodes encrypt as soon as both have it, and talk in the clear until then"},
	"birdExporter.enabled":      {Class: plugin.Rolling, Reason: restarts + "; the exporter is a container of it"},
	"multus.enabled":            {Judge: changedMultus},
	"multus.installCNIPlugins":  {Class: plugin.Rolling, Reason: "Multus restarts node after node, and pods that start on a node meanwhile get no further networks; plugins that are on the nodes stay there"},
	"serviceLoopPrevention":     {Class: plugin.Rolling, Reason: restarts},
	"ipip":                      {Class: plugin.Safe, Reason: "the field is deprecated and has no effect"},
	"ipAutodetectionMethod":     {Class: plugin.Safe, Reason: "the field is deprecated and has no effect"},
}

func changedRange(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case strings.EqualFold(rangeOf(before), rangeOf(after)) && isDualStack(before) && isDualStack(after):
		return plugin.Safe, "only the spelling changes, and with two IP families each node uses its own ranges"
	case strings.EqualFold(rangeOf(before), rangeOf(after)):
		return plugin.Rolling, restarts + "; only the spelling changes"
	case !takesRange(before) && !takesRange(after):
		return plugin.Rolling, restarts + "; calico-ipam does not look at it"
	}
	return plugin.Disruptive, "pods that start from then on get addresses of the other range, to which the routes between nodes may not lead"
}

func rangeOf(c *v1alpha1.NetworkConfig) string {
	if c.IPAM == nil || c.IPAM.CIDR == nil {
		return v1alpha1.UsePodCIDR
	}
	return *c.IPAM.CIDR
}

func takesRange(c *v1alpha1.NetworkConfig) bool {
	return c.IPAM == nil || c.IPAM.Type != v1alpha1.CalicoIPAM
}

// changedIPv4Mode and changedIPv6Mode also judge that a family comes or goes: there
// always is a mode of a family that the network has.
func changedIPv4Mode(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if hasIPv4(before) && !hasIPv4(after) {
		return plugin.Disruptive, familyGoes
	}
	return changedIPv4Pool(before, after)
}

func changedIPv4Pool(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if after.Overlay != nil {
		return plugin.Rolling, restarts + "; how packets travel is said by the address pool that comes with overlay, be it on or off"
	}
	return plugin.Rolling, poolStays
}

func changedIPv6Mode(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case hasIPv6(before) && !hasIPv6(after):
		return plugin.Disruptive, familyGoes
	case !hasIPv6(before) && hasIPv6(after) && losesIPIP(before):
		return plugin.Disruptive, "Felix takes IP-in-IP down, through which IPv4 packets travel between nodes; write overlay.enabled: false first"
	case !hasIPv6(before) && hasIPv6(after):
		return plugin.Rolling, restarts + "; pods that start from then on get an IPv6 address as well"
	default:
		return plugin.Rolling, restarts + "; IPv6 packets travel as they are whatever it says"
	}
}

// losesIPIP says whether IPv4 packets travel through what Felix does not set up beside
// IPv6.
func losesIPIP(before *v1alpha1.NetworkConfig) bool {
	return !isComplete(before) || felixUsesIPIP(before) && encapsulationOf(before) == ipip
}

const familyGoes = "nobody routes any more to the addresses of the family that goes, which pods keep until they are started anew"

func changedSourceNAT(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case !hasIPv6(before) || !hasIPv6(after):
		return plugin.Rolling, restarts + "; the value comes and goes with IPv6"
	case masquerades(after):
		return plugin.Rolling, restarts + "; connections that pods open to the outside from then on come from their node's address"
	default:
		return plugin.Disruptive, "pods' connections to the outside come from their own addresses from then on, to which no answer may find the way"
	}
}

func masquerades(c *v1alpha1.NetworkConfig) bool {
	return hasIPv6(c) && c.IPv6.SourceNATEnabled != nil && *c.IPv6.SourceNATEnabled
}

func changedMultus(_, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if after.Multus != nil && after.Multus.Enabled {
		return plugin.Rolling, "pods that start from then on go through Multus, and those that run keep their networks"
	}
	return plugin.Disruptive, "pods with further networks cannot start without Multus, and every NetworkAttachmentDefinition that users wrote is deleted with the kind, CustomResourceDefinition network-attachment-definitions.k8s.cni.cncf.io"
}

func changedMTU(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if before.VethMTU != nil && after.VethMTU != nil && mtuOf(before) == mtuOf(after) {
		return plugin.Safe, "only the spelling changes"
	}
	return plugin.Rolling, restarts + "; only pods that start from then on get the new MTU"
}

func changedOverlay(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case after.Overlay == nil && hasIPv4(before):
		return plugin.Disruptive, "the address pools that come with overlay are removed, and pods are cut off until calico-node has made one; write overlay.enabled instead"
	case encapsulationChanges(before, after) || overlayOn(after) && onlyCrossSubnet(before):
		return plugin.Disruptive, travelsOtherwise
	case before.Overlay == nil && hasIPv4(before) && overlayOn(after): // without new variables for calico-node
		return plugin.Rolling, "the address pool that calico-node made becomes one that is stated; " + asBeforeUnless
	case before.Overlay == nil && hasIPv4(before):
		return plugin.Rolling, restarts + "; " + asBeforeUnless
	default:
		return plugin.Rolling, restarts + "; packets between nodes travel as before"
	}
}

const asBeforeUnless = "packets between nodes travel as before, unless ipv4.pool or ipv4.mode was changed since the network was made: then they do from now on as overlay.enabled says, and nodes that have changed may not reach those that have not"

// onlyCrossSubnet says whether packets within a subnet travel as they are. With overlay
// they never do.
func onlyCrossSubnet(c *v1alpha1.NetworkConfig) bool {
	return c.Overlay == nil && c.IPv4 != nil && c.IPv4.Mode != nil && *c.IPv4.Mode == v1alpha1.CrossSubnet
}

func changedPodRoutes(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	if createsPodRoutes(before) == createsPodRoutes(after) {
		return plugin.Safe, "the value only became explicit or ceased to be so"
	}
	switch {
	case encapsulationChanges(before, after):
		return plugin.Disruptive, travelsOtherwise
	case usesBIRD(before) && usesBIRD(after):
		return plugin.Rolling, restarts + "; it is BIRD that makes the routes, as before"
	default:
		return plugin.Disruptive, othersMakeRoutes
	}
}

const (
	othersMakeRoutes = "somebody else makes the routes between nodes from then on, and the old ones go before all new ones are there"
	travelsOtherwise = "packets between nodes travel in another way, and a node that has changed does not reach one that has not"
)

// usesBIRD also judges a config that lacks a backend, since another release wrote it.
func usesBIRD(c *v1alpha1.NetworkConfig) bool {
	return c.Backend != nil && hasBackend(c, v1alpha1.Bird)
}

func createsPodRoutes(c *v1alpha1.NetworkConfig) bool {
	return overlayOff(c) && c.Overlay.CreatePodRoutes != nil && *c.Overlay.CreatePodRoutes
}

// changedVXLAN knows that without overlay the value reaches the same variables as
// ipv4.pool and ipv4.mode. Felix is told the same of tunnels as before.
func changedVXLAN(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	switch {
	case onlyIPv6(before) && onlyIPv6(after) && !overlayOn(before) && !overlayOn(after):
		return plugin.Safe, "VXLAN is for IPv4, which the network does not have"
	case before.Overlay == nil && after.Overlay == nil && hasIPv4(after):
		return plugin.Rolling, poolStays
	case encapsulationChanges(before, after):
		return plugin.Disruptive, travelsOtherwise
	default:
		return plugin.Rolling, restarts + "; packets between nodes travel as before"
	}
}

// encapsulationChanges takes a config that another release wrote, and that lacks
// a value, for one with another encapsulation.
func encapsulationChanges(before, after *v1alpha1.NetworkConfig) bool {
	if !isComplete(before) || !isComplete(after) {
		return true
	}
	return encapsulationOf(before) != encapsulationOf(after)
}

func isComplete(c *v1alpha1.NetworkConfig) bool {
	if c.Backend == nil || c.VXLAN == nil {
		return false
	}
	return c.IPv4 == nil && hasIPv6(c) || c.IPv4 != nil && c.IPv4.Mode != nil && c.IPv4.Pool != nil
}
