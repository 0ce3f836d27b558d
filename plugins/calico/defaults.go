// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"cmp"
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Requests that containers start with.
const (
	nodeCPU, nodeMemory   = "250m", "100Mi"
	typhaCPU, typhaMemory = "200m", "100Mi"
)

// defaulting makes one effective config.
type defaulting struct {
	config  *v1alpha1.NetworkConfig
	in      *plugin.Input
	origins *plugin.Origins
}

// Default makes config what is in force. Each step relies on those before it.
func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	d := &defaulting{config, in, origins}
	d.dropDeprecated()
	d.families()
	d.overlay()
	d.vxlan()
	d.backend()
	d.ipam()
	d.switches()
	d.ipv4()
	d.ipv6()
	d.snatToUpstreamDNS()
	d.autoScaling()
}

// dropDeprecated removes fields that Gardener's extension reads and never uses.
func (d *defaulting) dropDeprecated() {
	d.config.IPIP = nil
	d.origins.Rule("ipip", "it is deprecated; write ipv4.mode instead")
	d.config.IPAutodetectionMethod = nil
	d.origins.Rule("ipAutodetectionMethod", "it is deprecated; write ipv4.autoDetectionMethod instead")
}

// vxlan switches VXLAN on for an overlay without IP-in-IP. Without overlay the value follows a
// rule, so that it is not kept when the overlay is switched off.
func (d *defaulting) vxlan() {
	vxlan := plugin.OrDefault(&d.config.VXLAN, v1alpha1.VXLAN{})
	switch {
	case !overlayOn(d.config):
		d.origins.Rule("vxlan.enabled", "overlay.enabled is not true")
	case d.in.Infrastructure.NoIPIP && !vxlan.Enabled && d.config.IPv4 != nil:
		vxlan.Enabled = true
		d.origins.Infrastructure("vxlan.enabled", d.noIPIP())
	}
}

func (d *defaulting) overlay() {
	if d.config.Overlay == nil {
		return
	}
	plugin.OrDefault(&d.config.Overlay.Enabled, false)
	plugin.OrDefault(&d.config.Overlay.CreatePodRoutes, false)
	if *d.config.Overlay.Enabled {
		*d.config.Overlay.CreatePodRoutes = false
		d.origins.Rule("overlay.createPodRoutes", "overlay.enabled is true, and an overlay needs no such routes")
	}
}

func (d *defaulting) backend() {
	switch {
	case d.config.Overlay == nil && d.config.IPv6 != nil:
		d.config.Backend = new(v1alpha1.None)
		d.origins.Rule("backend", "IPv6 packets travel as they are unless overlay is there")
	case d.config.Overlay == nil && d.in.Infrastructure.NoIPIP:
		d.config.Backend = new(v1alpha1.None)
		d.origins.Infrastructure("backend", d.noIPIP())
	case d.config.Overlay == nil:
		plugin.OrDefault(&d.config.Backend, v1alpha1.Bird)
	case vxlanOverlay(d.config):
		d.config.Backend = new(v1alpha1.VXLANBackend)
		d.origins.Rule("backend", "overlay.enabled and vxlan.enabled are true")
	case overlayOn(d.config):
		d.config.Backend = new(v1alpha1.Bird)
		d.origins.Rule("backend", "overlay.enabled is true")
	case *d.config.Overlay.CreatePodRoutes:
		d.config.Backend = new(v1alpha1.Bird)
		d.origins.Rule("backend", "overlay.createPodRoutes is true")
	default:
		d.config.Backend = new(v1alpha1.None)
		d.origins.Rule("backend", "overlay.enabled is false")
	}
}

func (d *defaulting) ipam() {
	ipam := plugin.OrDefault(&d.config.IPAM, v1alpha1.IPAM{})
	ipam.Type = cmp.Or(ipam.Type, v1alpha1.HostLocal)
	if d.vxlanBringsIPAM() {
		ipam.Type = v1alpha1.CalicoIPAM
		d.origins.Rule("ipam.type", "VXLAN needs calico-ipam")
	}
	d.ipamRange(ipam)
}

func (d *defaulting) vxlanBringsIPAM() bool { return d.config.VXLAN.Enabled && d.config.IPv4 != nil }

// ipamRange sets the range that host-local takes addresses from. If VXLAN brought calico-ipam,
// which ignores the range, it stays as written: Gardener's extension writes it into the CNI
// configuration, which a takeover must not change.
func (d *defaulting) ipamRange(ipam *v1alpha1.IPAM) {
	dualStack := d.config.IPv4 != nil && d.config.IPv6 != nil
	nodesRange := v1alpha1.UsePodCIDR
	if d.config.IPv4 == nil {
		nodesRange = v1alpha1.UsePodCIDRIPv6
	}
	set := func(reason string) {
		ipam.CIDR = new(nodesRange)
		d.origins.Rule("ipam.cidr", reason)
	}
	isNodesRange := ipam.CIDR == nil || strings.EqualFold(*ipam.CIDR, v1alpha1.UsePodCIDR)
	switch {
	case isNodesRange && d.config.IPv4 == nil:
		set("the network has IPv6 only")
	case ipam.CIDR == nil || isNodesRange && dualStack:
		plugin.OrDefault(&ipam.CIDR, nodesRange)
	case dualStack:
		set("with two IP families each node uses its own ranges")
	case ipam.Type != v1alpha1.HostLocal && !d.vxlanBringsIPAM():
		set("only host-local takes its range from here, and the type is calico-ipam")
	}
}

func (d *defaulting) snatToUpstreamDNS() {
	if overlayOff(d.config) {
		plugin.OrDefault(&d.config.SnatToUpstreamDNS, v1alpha1.SnatToUpstreamDNS{Enabled: true})
		return
	}
	d.config.SnatToUpstreamDNS = &v1alpha1.SnatToUpstreamDNS{}
	d.origins.Rule("snatToUpstreamDNS.enabled", "it is only there for networks with overlay.enabled: false")
}

// switches sets the values that depend on no other value.
func (d *defaulting) switches() {
	plugin.OrDefault(&d.config.Typha, v1alpha1.Typha{Enabled: true})
	plugin.OrDefault(&d.config.VethMTU, "0")
	plugin.OrDefault(&d.config.EBPFDataplane, v1alpha1.EBPFDataplane{})
	plugin.OrDefault(&d.config.WireguardEncryption, false)
	plugin.OrDefault(&d.config.BirdExporter, v1alpha1.BirdExporter{})
	multus := plugin.OrDefault(&d.config.Multus, v1alpha1.Multus{})
	if !multus.Enabled {
		multus.InstallCNIPlugins = false
		d.origins.Rule("multus.installCNIPlugins", "multus.enabled is false")
	}
}

func (d *defaulting) autoScaling() {
	scaling := plugin.OrDefault(&d.config.AutoScaling, v1alpha1.AutoScaling{})
	scaling.Mode = cmp.Or(scaling.Mode, v1alpha1.ClusterProportional)
	if scaling.Mode == v1alpha1.VPA && !d.in.VPA {
		scaling.Mode = v1alpha1.ClusterProportional
		d.origins.Rule("autoScaling.mode", "the Shoot has no vertical pod autoscaler")
	}
	if scaling.Mode == v1alpha1.ClusterProportional {
		d.origins.Rule("autoScaling.resources", "only modes static and vpa look at it")
		scaling.Resources = nil
		return
	}
	if scaling.Mode == v1alpha1.Static {
		resources := plugin.OrDefault(&scaling.Resources, v1alpha1.StaticResources{})
		resources.Node = system.RequestsWith(resources.Node, nodeCPU, nodeMemory)
		resources.Typha = system.RequestsWith(resources.Typha, typhaCPU, typhaMemory)
	}
	if scaling.Resources != nil && !d.config.Typha.Enabled {
		d.origins.Rule("autoScaling.resources.typha", "typha.enabled is false")
		scaling.Resources.Typha = nil
	}
}

func (d *defaulting) noIPIP() string {
	return cmp.Or(d.in.Infrastructure.Type, "the infrastructure") + " has no IP-in-IP"
}
