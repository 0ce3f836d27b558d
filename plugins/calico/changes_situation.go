// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// changedIn judges changes that mean something else in another cluster, or by which way
// routes come about.
func changedIn(path string, before, after situation) (plugin.ChangeClass, string) {
	switch path {
	case "ipam.type":
		return forbiddenIPAM(before.Config, after.Config, wantsIPv6(after.Input))
	case "birdExporter.enabled":
		if gates := after.FeatureGates; exports(before.Config, gates) == exports(after.Config, gates) {
			return plugin.Safe, "only the exporter's Service comes or goes, since it cannot run in a calico-node that is not privileged"
		}
	}
	class, reason := changes.Classify(path, before.Config, after.Config)
	return class, tellingCuts(reason, before.Config, after.Config)
}

// exports says whether the exporter runs with the gates of today, since nobody remembers
// those of then.
func exports(c *v1alpha1.NetworkConfig, gates map[string]bool) bool {
	privileged := usesEBPF(c) || !gates[nonPrivilegedGate]
	return privileged && c.BirdExporter != nil && c.BirdExporter.Enabled
}

// tellingCuts tells in a reason that traffic does not go on where calico-node cannot start
// without removing the routes by which it travels. Init container cleanup-routes does not
// know whether they are of an overlay that went or those of today.
func tellingCuts(reason string, before, after *v1alpha1.NetworkConfig) string {
	if !usesBIRD(before) || !createsPodRoutes(after) {
		return reason
	}
	return strings.Replace(reason, goesOn, isCutOff, 1)
}

const isCutOff = "and while calico-node starts on a node, pods there do not reach those of other nodes: " +
	"without overlay it first removes BIRD's routes, which overlay.createPodRoutes brings back"

func changedIPAM(before, after *v1alpha1.NetworkConfig) (plugin.ChangeClass, string) {
	return forbiddenIPAM(before, after, hasIPv6(after))
}

// forbiddenIPAM says how a network keeps its IPAM. That calico-ipam can be written is only
// so in a network of IPv4; that VXLAN brings it, everywhere.
func forbiddenIPAM(before, after *v1alpha1.NetworkConfig, wantsIPv6 bool) (plugin.ChangeClass, string) {
	reason := "pods that run keep addresses which the other IPAM does not know of and would give to others; "
	switch wasVXLAN, isVXLAN := isOn(before.VXLAN), isOn(after.VXLAN); {
	case after.IPAM != nil && (before.IPAM == nil || before.IPAM.Type == ""): // as only a damaged status has it
		return plugin.Disruptive, "nobody remembers which IPAM gave pods their addresses; if it was another, this one may give addresses of pods that run to others"
	case isVXLAN && !wasVXLAN:
		return plugin.Forbidden, reason + "VXLAN brings calico-ipam with it, so leave vxlan and overlay as they were, or create a new cluster"
	case wasVXLAN && !isVXLAN && overlayGoes(before, after):
		// It could be written, but to addresses of calico-ipam no cloud makes routes.
		return plugin.Forbidden, reason + "leave vxlan and overlay as they were, or create a new cluster"
	case wasVXLAN && !isVXLAN && wantsIPv6:
		return plugin.Forbidden, reason + "leave vxlan as it was, or create a new cluster"
	case wasVXLAN && !isVXLAN:
		return plugin.Forbidden, reason + "keep it by writing ipam.type: calico-ipam"
	case wantsIPv6 && before.IPAM != nil && before.IPAM.Type == v1alpha1.CalicoIPAM:
		return plugin.Forbidden, reason + "stay with IPv4 and calico-ipam, or create a new cluster"
	default:
		return plugin.Forbidden, reason + "go back to the former type, or create a new cluster"
	}
}

func isOn(vxlan *v1alpha1.VXLAN) bool { return vxlan != nil && vxlan.Enabled }

// overlayGoes says whether a network is without overlay that was not before. What
// calico-node makes where nothing is said of overlay may be one.
func overlayGoes(before, after *v1alpha1.NetworkConfig) bool {
	return overlayOn(before) && !overlayOn(after) || overlayOff(after) && !overlayOff(before)
}
