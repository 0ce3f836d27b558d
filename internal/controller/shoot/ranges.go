// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
)

// networkingInUse returns the ranges that the Shoot uses. Its Network has one range of
// each kind; of other IP families the ranges that the status has stay. An Infrastructure that
// is ready adds the ranges of its nodes, and those of pods and Services in families that the
// Shoot wants and has no range of. While it is not ready, the nodes' ranges stay.
func networkingInUse(shoot *corev1beta1.Shoot, infrastructure *extensionsv1alpha1.Infrastructure) *corev1beta1.NetworkingStatus {
	network, err := pipeline.NetworkForShoot(shoot)
	if err != nil {
		return shoot.Status.Networking
	}
	before := ptr.Deref(shoot.Status.Networking, corev1beta1.NetworkingStatus{})
	nodes := ptr.Deref(ptr.Deref(shoot.Spec.Networking, corev1beta1.Networking{}).Nodes, "")
	inUse := &corev1beta1.NetworkingStatus{
		Pods:     replaceRange(before.Pods, network.Spec.PodCIDR),
		Services: replaceRange(before.Services, network.Spec.ServiceCIDR),
		Nodes:    replaceRange(before.Nodes, nodes),
	}
	if infrastructure == nil {
		return inUse
	}
	reported, err := reportedRanges(infrastructure)
	if err != nil || !isReady(infrastructure) {
		if len(before.Nodes) > 0 {
			inUse.Nodes = before.Nodes
		}
		return inUse
	}
	inUse.Pods = addFamilies(inUse.Pods, reported.Pods, network.Spec.IPFamilies)
	inUse.Services = addFamilies(inUse.Services, reported.Services, network.Spec.IPFamilies)
	if len(reported.Nodes) > 0 {
		inUse.Nodes = distinct(nodes, reported.Nodes)
	}
	return inUse
}

// maxRanges is how many ranges of one kind an Infrastructure may report, as many as the status
// of a Shoot may have.
const maxRanges = 16

// reportedRanges returns the ranges in the status of an Infrastructure, which another program has
// written, in their canonical form.
func reportedRanges(infrastructure *extensionsv1alpha1.Infrastructure) (corev1beta1.NetworkingStatus, error) {
	status := &infrastructure.Status
	networking := ptr.Deref(status.Networking, extensionsv1alpha1.InfrastructureStatusNetworking{})
	path := field.NewPath("status", "networking")
	var reported corev1beta1.NetworkingStatus
	var errs []error
	if status.NodesCIDR != nil {
		errs = append(errs, addRanges(&reported.Nodes, field.NewPath("status", "nodesCIDR"), []string{*status.NodesCIDR}))
	}
	errs = append(errs,
		addRanges(&reported.Nodes, path.Child("nodes"), networking.Nodes),
		addRanges(&reported.Pods, path.Child("pods"), networking.Pods),
		addRanges(&reported.Services, path.Child("services"), networking.Services))
	if err := errors.Join(errs...); err != nil {
		return reported, fmt.Errorf("the Infrastructure %s reports: %w", client.ObjectKeyFromObject(infrastructure), err)
	}
	return reported, nil
}

// addRanges adds the valid ranges to others, each once, and returns the first error.
func addRanges(to *[]string, path *field.Path, ranges []string) error {
	if len(ranges) > maxRanges {
		return field.TooMany(path, len(ranges), maxRanges)
	}
	for _, each := range ranges {
		prefix, err := netip.ParsePrefix(each)
		if err != nil || prefix.Addr().Is4In6() {
			return field.Invalid(path, fielderror.Abbreviate(each), "must be a range such as 10.250.0.0/16 or 2001:db8::/56")
		}
		if canonical := prefix.Masked().String(); !slices.Contains(*to, canonical) {
			*to = append(*to, canonical)
		}
	}
	return nil
}

// addFamilies adds the first range of each wanted family of which there is none.
func addFamilies(ranges, reported []string, wanted []extensionsv1alpha1.IPFamily) []string {
	for _, cidr := range reported {
		family := extensionsv1alpha1.IPv4
		if isIPv6(cidr) {
			family = extensionsv1alpha1.IPv6
		}
		isThere := slices.ContainsFunc(ranges, func(other string) bool { return isIPv6(other) == isIPv6(cidr) })
		if !isThere && slices.Contains(wanted, family) {
			ranges = append(slices.Clone(ranges), cidr)
		}
	}
	return ranges
}

// distinct returns the ranges with the first one in front of them, unless that is empty.
func distinct(first string, ranges []string) []string {
	if first == "" {
		return ranges
	}
	return append([]string{first}, slices.DeleteFunc(slices.Clone(ranges), func(other string) bool { return other == first })...)
}

// replaceRange returns the ranges with all of cidr's IP family replaced by cidr, which
// comes first if there was none.
func replaceRange(ranges []string, cidr string) []string {
	if cidr == "" {
		return ranges
	}
	isReplaced := func(other string) bool { return isIPv6(other) == isIPv6(cidr) }
	first := max(0, slices.IndexFunc(ranges, isReplaced))
	return slices.Insert(slices.DeleteFunc(slices.Clone(ranges), isReplaced), first, cidr)
}

func isIPv6(cidr string) bool { return strings.Contains(cidr, ":") }
