// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// warnNotInForce warns of every value that the user wrote and that something else
// goes before. Why is asked of the defaults themselves, so that no rule can
// forget its warning.
func warnNotInForce(found *plugin.Findings, effective, written *v1alpha1.NetworkConfig, facts *plugin.Facts, path *field.Path) {
	var because plugin.Origins
	setDefaults(written.DeepCopy(), facts, &because)
	reasons := because.ByPath()
	inForce := leavesOf(effective)
	wrote := leavesOf(written)
	for _, name := range sortedKeys(wrote) {
		value, has := inForce[name]
		if wrote[name] == "" || has && value == wrote[name] {
			continue
		}
		message := fmt.Sprintf("%v has no effect", wrote[name])
		if has {
			message = fmt.Sprintf("%v is not in force, %v is", wrote[name], value)
		}
		if origin, ok := nearest(reasons, name); ok {
			message += ": " + origin.Reason
		}
		found.Warn(at(path, name), message)
	}
}

// at is the path of a dotted field beneath root.
func at(root *field.Path, dotted string) *field.Path {
	for _, name := range strings.Split(dotted, ".") {
		root = root.Child(name)
	}
	return root
}

// surprise is a combination of values that are all in force and together do not
// do what one would think.
type surprise struct {
	path    string
	happens func(effective *v1alpha1.NetworkConfig, facts *plugin.Facts) bool
	message string
}

// surprises is the list of them. Where Gardener's extension contradicts itself,
// the result stays the same here, and the user is told.
var surprises = []surprise{
	{"backend", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Overlay == nil && hasBackend(e, v1alpha1.VXLANBackend) && *e.IPv4.Pool == v1alpha1.PoolIPIP
	}, "the address pool uses IP-in-IP, for which backend vxlan makes no routes; write overlay.enabled: true and vxlan.enabled: true for a network that uses VXLAN"},

	{"ipv4.pool", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return overlayOn(e) && !e.VXLAN.Enabled && *e.IPv4.Pool == v1alpha1.PoolVXLAN
	}, "packets travel through IP-in-IP all the same: the address pool that comes with overlay.enabled goes before; write vxlan.enabled: true for VXLAN"},

	{"ipv4.mode", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.Overlay == nil && hasBackend(e, v1alpha1.None) && *e.IPv4.Pool == v1alpha1.PoolIPIP && encapsulates(*e.IPv4.Mode)
	}, "packets are not encapsulated all the same: with backend none Felix sets up no IP-in-IP"},

	{"vxlan.enabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.VXLAN.Enabled && overlayOff(e)
	}, "packets are not encapsulated all the same, since overlay.enabled is false; what remains of it is ipam.type calico-ipam"},

	{"vxlan.enabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.VXLAN.Enabled && e.Overlay == nil && *e.IPv4.Pool == v1alpha1.PoolIPIP
	}, "packets travel through IP-in-IP all the same, since ipv4.pool is ipip; what remains of it is ipam.type calico-ipam"},

	{"vxlan.enabled", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return e.VXLAN.Enabled && e.Overlay == nil && hasBackend(e, v1alpha1.None)
	}, "a network with backend none is none of VXLAN, although its address pool says so; write overlay.enabled: true"},

	{"ipam.type", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return !usesHostLocal(e) && !hasKubeControllers(e)
	}, "with backend none there are no kube-controllers, so nobody collects addresses of calico-ipam that pods left behind"},

	{"ipam.cidr", func(e *v1alpha1.NetworkConfig, _ *plugin.Facts) bool {
		return usesHostLocal(e) && !strings.EqualFold(*e.IPAM.CIDR, v1alpha1.UsePodCIDR)
	}, "every node gives its pods addresses of this one range, so two pods on different nodes can get the same; usePodCIDR gives each node its own"},

	{"birdExporter.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return e.BirdExporter.Enabled && !isPrivileged(e, f)
	}, "there is only its Service: the exporter cannot run in a calico-node that is not privileged"},

	{"birdExporter.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return e.BirdExporter.Enabled && isPrivileged(e, f) && !hasBackend(e, v1alpha1.Bird)
	}, "there is nothing to export, since BIRD only runs with backend bird"},

	{"snatToUpstreamDNS.enabled", func(e *v1alpha1.NetworkConfig, f *plugin.Facts) bool {
		return e.SnatToUpstreamDNS.Enabled && f.NodeLocalDNS
	}, "with it NetworkPolicies cannot block pods' requests to the nodes' DNS cache (NodeLocalDNS), whose rules come first"},
}

func warnSurprises(found *plugin.Findings, effective *v1alpha1.NetworkConfig, facts *plugin.Facts, path *field.Path) {
	for _, s := range surprises {
		if s.happens(effective, facts) {
			found.Warn(at(path, s.path), s.message)
		}
	}
}

func encapsulates(mode v1alpha1.PoolMode) bool {
	return mode != v1alpha1.Never && mode != v1alpha1.Off
}
