// SPDX-License-Identifier: Apache-2.0

package route

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// maxNodes is how many nodes of a cluster get routes, more than a route table takes. maxRanges is how
// many ranges a node can have, one for each IP family.
const maxNodes, maxRanges = 2000, 2

// nodeRoutes are the routes that one node needs.
type nodeRoutes struct {
	node *corev1.Node
	// machine is the ID of the machine that the node runs on.
	machine string
	// ranges are those of its pods.
	ranges []netip.Prefix
	// problem says why the node gets no routes, and those that it has stay.
	problem string
}

// podRanges returns the ranges of a cluster's pods: those that its Network and its Shoot state, which
// are written by the garden and not by the cluster.
func podRanges(network *extensionsv1alpha1.Network, shoot *corev1beta1.Shoot) []netip.Prefix {
	stated := []string{network.Spec.PodCIDR}
	if shoot.Spec.Networking != nil && shoot.Spec.Networking.Pods != nil {
		stated = append(stated, *shoot.Spec.Networking.Pods)
	}
	if shoot.Status.Networking != nil {
		stated = append(stated, shoot.Status.Networking.Pods...)
	}
	var ranges []netip.Prefix
	for _, each := range stated {
		if prefix, err := netip.ParsePrefix(each); err == nil {
			ranges = append(ranges, prefix.Masked())
		}
	}
	return ranges
}

// neededBy returns what each node needs, sorted by name. The nodes are the cluster's word, and its
// users can write anything there: a range counts only within those of the cluster's pods, and only if
// no other node has it or a part of it.
func neededBy(nodes []corev1.Node, pods []netip.Prefix, machineOf func(providerID string) string) []nodeRoutes {
	all := make([]nodeRoutes, len(nodes))
	byMachine := map[string]int{}
	for i := range nodes {
		all[i] = read(&nodes[i], pods, machineOf)
		if all[i].machine != "" {
			byMachine[all[i].machine]++
		}
	}
	slices.SortFunc(all, func(a, b nodeRoutes) int { return cmp.Compare(a.node.Name, b.node.Name) })
	for i := range all {
		if all[i].problem == "" && byMachine[all[i].machine] > 1 {
			all[i].problem = "another node has the same spec.providerID " + quoted(all[i].node.Spec.ProviderID)
		}
	}
	refuseOverlaps(all)
	return all
}

// read returns what one node needs, by itself.
func read(node *corev1.Node, pods []netip.Prefix, machineOf func(string) string) nodeRoutes {
	n := nodeRoutes{node: node, machine: machineOf(node.Spec.ProviderID)}
	stated := node.Spec.PodCIDRs
	if len(stated) == 0 && node.Spec.PodCIDR != "" {
		stated = []string{node.Spec.PodCIDR}
	}
	families := map[bool]bool{}
	for _, text := range stated[:min(len(stated), maxRanges)] {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil || prefix != prefix.Masked() || prefix.Addr().Is4In6():
			n.problem = fmt.Sprintf("spec.podCIDRs has %s, which is no range", quoted(text))
		case !slices.ContainsFunc(pods, func(all netip.Prefix) bool { return all.Bits() < prefix.Bits() && all.Contains(prefix.Addr()) }):
			n.problem = fmt.Sprintf("spec.podCIDRs has %s, which is not a part of the cluster's range of pods", prefix)
		case families[prefix.Addr().Is4()]:
			n.problem = "spec.podCIDRs has two ranges of one IP family"
		default:
			families[prefix.Addr().Is4()] = true
			n.ranges = append(n.ranges, prefix)
		}
	}
	switch {
	case n.problem != "":
	case len(stated) > maxRanges:
		n.problem = fmt.Sprintf("spec.podCIDRs has %d ranges, where one of each IP family is allowed", len(stated))
	case len(stated) == 0:
		n.problem = "spec.podCIDRs is empty; kube-controller-manager must allocate ranges to nodes (--allocate-node-cidrs)"
	case n.machine == "":
		n.problem = fmt.Sprintf("spec.providerID is %s, which is no machine of this infrastructure", quoted(node.Spec.ProviderID))
	}
	return n
}

// refuseOverlaps finds ranges of which two nodes have a part. Ranges overlap if one contains the
// other, and then nothing but ranges within the larger one lies between the two in their order.
func refuseOverlaps(all []nodeRoutes) {
	owners := map[netip.Prefix][]int{}
	for i := range all {
		for _, prefix := range all[i].ranges {
			owners[prefix] = append(owners[prefix], i)
		}
	}
	var outer []netip.Prefix // those that contain the present one
	for _, prefix := range slices.SortedFunc(maps.Keys(owners), netip.Prefix.Compare) {
		for len(outer) > 0 && !outer[len(outer)-1].Overlaps(prefix) {
			outer = outer[:len(outer)-1]
		}
		if len(outer) > 0 {
			refuse(all, owners[prefix], outer[len(outer)-1], owners[outer[len(outer)-1]][0])
			refuse(all, owners[outer[len(outer)-1]], prefix, owners[prefix][0])
		}
		if len(owners[prefix]) > 1 {
			refuse(all, owners[prefix][1:], prefix, owners[prefix][0])
			refuse(all, owners[prefix][:1], prefix, owners[prefix][1])
		}
		outer = append(outer, prefix)
	}
}

// refuse notes that nodes have a part of a range of another node.
func refuse(all []nodeRoutes, which []int, prefix netip.Prefix, other int) {
	for _, i := range which {
		if all[i].problem == "" {
			all[i].problem = fmt.Sprintf("its range overlaps with %s of the node %s", prefix, quoted(all[other].node.Name))
		}
	}
}

// maxText is how many bytes of a text are told that a cluster has chosen.
const maxText = 128

// quoted returns a text that a cluster has chosen as it may be told to users.
func quoted(text string) string { return condition.Shorten(strconv.QuoteToGraphic(text), maxText) }
