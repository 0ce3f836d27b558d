// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// Durations of the leases by which nodes agree which one answers for a Service.
const (
	leaseDuration      = 15 * time.Second
	leaseRenewDeadline = 5 * time.Second
	leaseRetryPeriod   = 2 * time.Second
)

// serviceFields are about Services, and gateways to and from the outside.
var serviceFields = []configField{
	{
		path: "kubeproxy.k8sServiceHost",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if server := written.KubeProxy; server != nil && server.ServiceHost != nil && !isIP(*server.ServiceHost) {
				for _, message := range validation.IsDNS1123Subdomain(*server.ServiceHost) {
					found.Error(field.Invalid(path, *server.ServiceHost, "must be an IP address without a zone, or a DNS name such as api.example.com: "+message))
				}
			}
		},
		setDefault: defaultAPIServer,
		changes:    []rule{{Class: plugin.Safe, Reason: onlyOperator}},
	},
	{
		path: "kubeproxy.k8sServicePort",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if server := written.KubeProxy; server != nil && server.ServicePort != nil && (*server.ServicePort < 1 || *server.ServicePort > 65535) {
				found.Error(field.Invalid(path, *server.ServicePort, "must be a port from 1 to 65535; write that of the API server, such as 443"))
			}
		},
		changes: []rule{{Class: plugin.Safe, Reason: onlyOperator}},
	},
	{
		path: "bpfSocketLBHostnsOnly.enabled",
		setDefault: func(d *defaulting) {
			plugin.OrDefault(&d.config.BPFSocketLBHostnsOnly, v1alpha1.BPFSocketLBHostnsOnly{})
		},
		configure: func(c ciliumConfig, s settings) {
			s.setIf(c.config.BPFSocketLBHostnsOnly.Enabled, "bpf-lb-sock-hostns-only", yes)
		},
		changes: []rule{
			idleWithKubeProxy,
			{Class: plugin.Rolling, Reason: restarts + "; the change applies to connections that pods open afterwards"},
		},
	},
	{
		path: "loadBalancingMode", // validateLoadBalancing has what dsr needs
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			plugin.OneOf(found, path, written.LoadBalancingMode, v1alpha1.SNAT, v1alpha1.DSR, v1alpha1.Hybrid)
		},
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.LoadBalancingMode, v1alpha1.SNAT) },
		configure:  func(c ciliumConfig, s settings) { s["bpf-lb-mode"] = string(*c.config.LoadBalancingMode) },
		changes: []rule{
			idleWithKubeProxy,
			{Class: plugin.Disruptive, Reason: "open connections from outside break if they enter through a node other than the pod's"},
		},
	},
	{
		path:       "egressGateway.enabled", // validateEgressGateway has what it needs
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.EgressGateway, v1alpha1.EgressGateway{}) },
		configure:  func(c ciliumConfig, s settings) { s.setIf(c.config.EgressGateway.Enabled, egressGatewayKey, yes) },
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
				return c.After.Config.EgressGateway != nil && c.After.Config.EgressGateway.Enabled
			}, Reason: restarts + "; connections that selected pods open from then on go through gateways"},
			{Class: plugin.Disruptive, Reason: "connections through gateways break, and new ones come from the addresses of the pods' own nodes"},
		},
	},
	{
		path:       "bgpControlPlane.enabled",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.BGPControlPlane, v1alpha1.BGPControlPlane{}) },
		configure: func(c ciliumConfig, s settings) {
			s["enable-bgp-control-plane"] = boolean(c.config.BGPControlPlane.Enabled)
		},
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
				return c.After.Config.BGPControlPlane != nil && c.After.Config.BGPControlPlane.Enabled
			}, Reason: restarts},
			{Class: plugin.Disruptive, Reason: "routers outside lose the routes that were announced to them"},
		},
	},
	{
		path:       "l2Announcements.enabled",
		setDefault: defaultL2Announcements,
		configure:  configureL2Announcements,
		changes: []rule{
			idleAnnouncements,
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
				return c.After.Config.L2Announcements != nil && c.After.Config.L2Announcements.Enabled
			}, Reason: restarts},
			{Class: plugin.Disruptive, Reason: "no node answers any more for the addresses of Services that nodes announced"},
		},
	},
	{
		path:    "l2Announcements",
		changes: []rule{idleAnnouncements, {Class: plugin.Rolling, Reason: restarts}},
	},
}

// defaultAPIServer removes an address that has no effect.
func defaultAPIServer(d *defaulting) {
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

func defaultL2Announcements(d *defaulting) {
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

func configureL2Announcements(c ciliumConfig, s settings) {
	l2 := c.config.L2Announcements
	if !l2.Enabled {
		return
	}
	s["enable-l2-announcements"] = yes
	s["l2-announcements-lease-duration"] = l2.LeaseDuration.Duration.String()
	s["l2-announcements-renew-deadline"] = l2.LeaseRenewDeadline.Duration.String()
	s["l2-announcements-retry-period"] = l2.LeaseRetryPeriod.Duration.String()
}

// Values that have no effect in a cluster restart agents nevertheless.
var (
	idleWithKubeProxy = rule{Class: plugin.Rolling, When: "with kube-proxy", If: func(c change) bool {
		return !replacesKubeProxy(c.Before.Input) && !replacesKubeProxy(c.After.Input)
	}, Reason: noEffect}
	idleAnnouncements = rule{Class: plugin.Rolling, When: "with kube-proxy, or if nodes announce nothing", If: func(c change) bool {
		return !announces(c.Before) && !announces(c.After)
	}, Reason: noEffect}
)

const noEffect = restarts + "; the value has no effect as long as kube-proxy runs"
