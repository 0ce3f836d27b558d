// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// Durations of the leases by which nodes agree who answers for a Service.
const (
	leaseDuration      = 15 * time.Second
	leaseRenewDeadline = 5 * time.Second
	leaseRetryPeriod   = 2 * time.Second
)

// defaulting makes one config effective.
type defaulting struct {
	config  *v1alpha1.NetworkConfig
	in      *plugin.Input
	origins *plugin.Origins
}

// Default makes config what is in force. Each step relies on those before it.
func (definition) Default(config *v1alpha1.NetworkConfig, in *plugin.Input, origins *plugin.Origins) {
	d := &defaulting{config, in, origins}
	d.families()
	d.createPodRoutes()
	d.tunnel()
	d.nativeRouting()
	d.kubeProxy()
	d.independent()
	d.masquerading()
	d.encryption()
	d.l2Announcements()
}

// families are the network's, whatever the user wrote.
func (d *defaulting) families() {
	const reason = "the network's IP families decide"
	d.config.IPv4 = &v1alpha1.IPv4{Enabled: deploysIPv4(d.in)}
	d.origins.Rule("ipv4.enabled", reason)
	d.config.IPv6 = &v1alpha1.IPv6{Enabled: deploysIPv6(d.in)}
	d.origins.Rule("ipv6.enabled", reason)
}

func (d *defaulting) createPodRoutes() {
	if d.config.Overlay == nil {
		return
	}
	plugin.OrDefault(&d.config.Overlay.CreatePodRoutes, false)
	if d.config.Overlay.Enabled {
		*d.config.Overlay.CreatePodRoutes = false
		d.origins.Rule("overlay.createPodRoutes", "overlay.enabled is true, and an overlay needs no such routes")
	}
}

func (d *defaulting) tunnel() {
	mode := &d.config.TunnelMode
	switch {
	case overlayOff(d.config):
		*mode = new(v1alpha1.Disabled)
		d.origins.Rule("tunnel", "overlay.enabled is false")
	case overlayOn(d.config) && *mode != nil && **mode == v1alpha1.Disabled:
		*mode = new(v1alpha1.VXLAN)
		d.origins.Rule("tunnel", "overlay.enabled is true")
	default:
		plugin.OrDefault(mode, v1alpha1.VXLAN)
	}
}

// nativeRouting lets overlay decide for each family of the network whether its pods'
// range is routed.
func (d *defaulting) nativeRouting() {
	const ipv4, ipv6 = "ipv4NativeRoutingCIDREnabled", "ipv6NativeRoutingCIDREnabled"
	if hasIPv4(d.config) {
		d.nativelyRouted(&d.config.IPv4NativeRoutingCIDREnabled, ipv4)
	} else {
		d.config.IPv4NativeRoutingCIDREnabled = new(false)
		d.origins.Rule(ipv4, "the network has no IPv4")
	}
	if hasIPv6(d.config) {
		d.nativelyRouted(&d.config.IPv6NativeRoutingCIDREnabled, ipv6)
	} else {
		plugin.OrDefault(&d.config.IPv6NativeRoutingCIDREnabled, false)
	}
}

func (d *defaulting) nativelyRouted(enabled **bool, path string) {
	switch {
	case overlayOn(d.config):
		*enabled = new(false)
		d.origins.Rule(path, "overlay.enabled is true")
	case overlayOff(d.config):
		*enabled = new(true)
		d.origins.Rule(path, "overlay.enabled is false")
	default:
		plugin.OrDefault(enabled, false)
	}
}

func (d *defaulting) kubeProxy() {
	stated := d.config.KubeProxy
	switch {
	case stated == nil:
	case !replacesKubeProxy(d.in):
		d.origins.Rule("kubeproxy", "kube-proxy runs and leads to the API server")
		d.config.KubeProxy = nil
	case stated.ServiceHost == nil || stated.ServicePort == nil:
		d.origins.Rule("kubeproxy", "k8sServiceHost and k8sServicePort only count together")
		d.config.KubeProxy = nil
	}
}

// independent sets the values that depend on nothing.
func (d *defaulting) independent() {
	for _, each := range ordinaryFields {
		if each.setDefault != nil {
			each.setDefault(d.config)
		}
	}
	plugin.OrDefault(&d.config.Hubble, v1alpha1.Hubble{})
	plugin.OrDefault(&d.config.SnatToUpstreamDNS, v1alpha1.SnatToUpstreamDNS{})
	plugin.OrDefault(&d.config.SnatOutOfCluster, v1alpha1.SnatOutOfCluster{})
}

func (d *defaulting) masquerading() {
	if hasIPv4(d.config) {
		plugin.OrDefault(&d.config.EnableIPv4Masquerade, true)
	} else {
		d.config.EnableIPv4Masquerade = new(false)
		d.origins.Rule("enableIpv4Masquerade", "the network has no IPv4")
	}
	plugin.OrDefault(&d.config.EnableIPv6Masquerade, false)
	switch {
	case knowsBPFMasquerade(d.config):
		plugin.OrDefault(&d.config.EnableBPFMasquerade, true)
		return
	case !hasIPv4(d.config):
		d.origins.Rule("enableBPFMasquerade", "the network has no IPv4")
	default:
		d.origins.Rule("enableBPFMasquerade", "snatToUpstreamDNS and snatOutOfCluster add rules to iptables, so it is iptables that masquerades")
	}
	d.config.EnableBPFMasquerade = new(false)
}

func (d *defaulting) encryption() {
	encryption := plugin.OrDefault(&d.config.Encryption, v1alpha1.Encryption{})
	if encryption.Enabled {
		return
	}
	*encryption = v1alpha1.Encryption{}
	d.origins.Rule("encryption", "encryption.enabled is false")
}

func (d *defaulting) l2Announcements() {
	announcements := plugin.OrDefault(&d.config.L2Announcements, v1alpha1.L2Announcements{})
	if !announcements.Enabled {
		*announcements = v1alpha1.L2Announcements{}
		d.origins.Rule("l2Announcements", "l2Announcements.enabled is false")
		return
	}
	plugin.OrDefault(&announcements.LeaseDuration, metav1.Duration{Duration: leaseDuration})
	plugin.OrDefault(&announcements.LeaseRenewDeadline, metav1.Duration{Duration: leaseRenewDeadline})
	plugin.OrDefault(&announcements.LeaseRetryPeriod, metav1.Duration{Duration: leaseRetryPeriod})
}
