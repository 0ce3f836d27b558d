// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// Requests that containers start with.
const (
	nodeCPU, nodeMemory   = "250m", "100Mi"
	typhaCPU, typhaMemory = "200m", "100Mi"
)

// defaulting is the making of one effective config.
type defaulting struct {
	config  *v1alpha1.NetworkConfig
	facts   *plugin.Facts
	because *plugin.Origins
}

// setDefaults makes config what is in force. Each step relies on those before it.
func setDefaults(config *v1alpha1.NetworkConfig, facts *plugin.Facts, because *plugin.Origins) {
	d := &defaulting{config, facts, because}
	d.dropDeprecated()
	d.vxlan()
	d.createPodRoutes()
	d.backend()
	d.ipam()
	d.pool()
	d.mode()
	d.autoDetection()
	d.snatToUpstreamDNS()
	d.switches()
	d.autoScaling()
}

// dropDeprecated leaves aside what Gardener's extension reads and never uses.
func (d *defaulting) dropDeprecated() {
	d.config.IPIP = nil
	d.because.Rule("ipip", "it is deprecated; write ipv4.mode instead")
	d.config.IPAutodetectionMethod = nil
	d.because.Rule("ipAutodetectionMethod", "it is deprecated; write ipv4.autoDetectionMethod instead")
}

func (d *defaulting) vxlan() {
	vxlan := orDefault(&d.config.VXLAN, v1alpha1.VXLAN{})
	if d.facts.Infrastructure.NoIPIP && overlayOn(d.config) && !vxlan.Enabled {
		vxlan.Enabled = true
		d.because.Infrastructure("vxlan.enabled", d.noIPIP())
	}
}

func (d *defaulting) createPodRoutes() {
	if d.config.Overlay == nil {
		return
	}
	orDefault(&d.config.Overlay.CreatePodRoutes, false)
	if d.config.Overlay.Enabled {
		*d.config.Overlay.CreatePodRoutes = false
		d.because.Rule("overlay.createPodRoutes", "overlay.enabled is true, and an overlay needs no such routes")
	}
}

func (d *defaulting) backend() {
	switch {
	case d.config.Overlay == nil && d.facts.Infrastructure.NoIPIP:
		d.config.Backend = new(v1alpha1.None)
		d.because.Infrastructure("backend", d.noIPIP())
	case d.config.Overlay == nil:
		orDefault(&d.config.Backend, v1alpha1.Bird)
	case vxlanOverlay(d.config):
		d.config.Backend = new(v1alpha1.VXLANBackend)
		d.because.Rule("backend", "overlay.enabled and vxlan.enabled are true")
	case overlayOn(d.config):
		d.config.Backend = new(v1alpha1.Bird)
		d.because.Rule("backend", "overlay.enabled is true")
	case *d.config.Overlay.CreatePodRoutes:
		d.config.Backend = new(v1alpha1.Bird)
		d.because.Rule("backend", "overlay.createPodRoutes is true")
	default:
		d.config.Backend = new(v1alpha1.None)
		d.because.Rule("backend", "overlay.enabled is false")
	}
}

func (d *defaulting) ipam() {
	ipam := orDefault(&d.config.IPAM, v1alpha1.IPAM{})
	ipam.Type = cmp.Or(ipam.Type, v1alpha1.HostLocal)
	if d.config.VXLAN.Enabled {
		ipam.Type = v1alpha1.CalicoIPAM
		d.because.Rule("ipam.type", "VXLAN needs calico-ipam")
	}
	orDefault(&ipam.CIDR, v1alpha1.UsePodCIDR)
	if ipam.Type != v1alpha1.HostLocal && !strings.EqualFold(*ipam.CIDR, v1alpha1.UsePodCIDR) {
		ipam.CIDR = new(v1alpha1.UsePodCIDR)
		d.because.Rule("ipam.cidr", "only host-local takes its range from here, and the type is calico-ipam")
	}
}

func (d *defaulting) pool() {
	ipv4 := orDefault(&d.config.IPv4, v1alpha1.IPv4{})
	switch {
	case vxlanOverlay(d.config):
		ipv4.Pool = new(v1alpha1.PoolVXLAN)
		d.because.Rule("ipv4.pool", "overlay.enabled and vxlan.enabled are true")
	case ipv4.Pool == nil && d.config.VXLAN.Enabled:
		ipv4.Pool = new(v1alpha1.PoolVXLAN)
		d.because.Rule("ipv4.pool", "vxlan.enabled is true")
	default:
		orDefault(&ipv4.Pool, v1alpha1.PoolIPIP)
	}
}

func (d *defaulting) mode() {
	ipv4 := d.config.IPv4
	switch {
	case overlayOn(d.config):
		ipv4.Mode = new(v1alpha1.Always)
		d.because.Rule("ipv4.mode", "overlay.enabled is true")
	case overlayOff(d.config):
		ipv4.Mode = new(v1alpha1.Never)
		d.because.Rule("ipv4.mode", "overlay.enabled is false")
	case ipv4.Mode == nil && *d.config.Backend == v1alpha1.None && !d.config.VXLAN.Enabled:
		ipv4.Mode = new(v1alpha1.Never)
		d.because.Rule("ipv4.mode", "the backend is none")
	default:
		orDefault(&ipv4.Mode, v1alpha1.Always)
	}
}

// autoDetection lets nodes find their address in the range that the Shoot states
// for them. What its status reports is more exact than its spec.
func (d *defaulting) autoDetection() {
	if method := d.config.IPv4.AutoDetectionMethod; method != nil && *method == "" {
		d.config.IPv4.AutoDetectionMethod = nil
	}
	if d.facts.NodeCIDR == "" {
		return
	}
	ranges := []string{d.facts.NodeCIDR}
	if len(d.facts.NodeCIDRs) > 0 {
		ranges = ipv4Ranges(d.facts.NodeCIDRs)
	}
	d.because.Rule("ipv4.autoDetectionMethod", "the Shoot states its nodes' range")
	d.config.IPv4.AutoDetectionMethod = nil
	if len(ranges) > 0 {
		d.config.IPv4.AutoDetectionMethod = new("cidr=" + strings.Join(ranges, ","))
	}
}

func ipv4Ranges(cidrs []string) []string {
	var ranges []string
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && prefix.Addr().Is4() {
			ranges = append(ranges, cidr)
		}
	}
	return ranges
}

func (d *defaulting) snatToUpstreamDNS() {
	if overlayOff(d.config) {
		orDefault(&d.config.SnatToUpstreamDNS, v1alpha1.SnatToUpstreamDNS{Enabled: true})
		return
	}
	d.config.SnatToUpstreamDNS = &v1alpha1.SnatToUpstreamDNS{}
	d.because.Rule("snatToUpstreamDNS.enabled", "it is only there for networks with overlay.enabled: false")
}

// switches are the values that depend on nothing.
func (d *defaulting) switches() {
	orDefault(&d.config.Typha, v1alpha1.Typha{Enabled: true})
	orDefault(&d.config.VethMTU, "0")
	orDefault(&d.config.EBPFDataplane, v1alpha1.EBPFDataplane{})
	orDefault(&d.config.WireguardEncryption, false)
	orDefault(&d.config.BirdExporter, v1alpha1.BirdExporter{})
	multus := orDefault(&d.config.Multus, v1alpha1.Multus{})
	if !multus.Enabled {
		multus.InstallCNIPlugins = false
		d.because.Rule("multus.installCNIPlugins", "multus.enabled is false")
	}
}

func (d *defaulting) autoScaling() {
	scaling := orDefault(&d.config.AutoScaling, v1alpha1.AutoScaling{})
	scaling.Mode = cmp.Or(scaling.Mode, v1alpha1.ClusterProportional)
	if scaling.Mode == v1alpha1.VPA {
		scaling.Mode = v1alpha1.ClusterProportional
		reason := "this version does not bring VerticalPodAutoscaler objects"
		if !d.facts.VPA {
			reason = "the Shoot has no vertical pod autoscaler"
		}
		d.because.Rule("autoScaling.mode", reason)
	}
	if scaling.Mode == v1alpha1.Static {
		resources := orDefault(&scaling.Resources, v1alpha1.StaticResources{})
		resources.Node = withDefaults(resources.Node, nodeCPU, nodeMemory)
		resources.Typha = withDefaults(resources.Typha, typhaCPU, typhaMemory)
		return
	}
	d.because.Rule("autoScaling.resources", "only mode static takes requests from here")
	scaling.Resources = nil
}

func (d *defaulting) noIPIP() string {
	return cmp.Or(d.facts.Infrastructure.Type, "the infrastructure") + " has no IP-in-IP"
}

// orDefault returns what is at field, after putting value there if there was
// nothing.
func orDefault[T any](field **T, value T) *T {
	if *field == nil {
		*field = &value
	}
	return *field
}
