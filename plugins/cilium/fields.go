// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// ordinaryField is a field of NetworkConfig that neither another field nor a fact decides:
// agents and operator are told what is there.
type ordinaryField struct {
	// path is the field's, in JSON spelling.
	path string
	// validate finds what is wrong with what the user wrote; nil if any value is allowed.
	validate func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path)
	// setDefault fills in what the user left out; nil if the field then stays absent.
	setDefault func(*v1alpha1.NetworkConfig)
	// tell adds to what agents and operator are told in ConfigMap cilium-config.
	tell func(*v1alpha1.NetworkConfig, settings)
	// changes are what a change means for a running network; the first rule that applies
	// decides.
	changes []rule
}

// ordinaryFields are all of them. To add a field, declare it in v1alpha1 and add an entry.
// Fields that depend on others are in defaults.go, configmap.go and changes.go.
var ordinaryFields = []ordinaryField{
	{
		path:       "debug",
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.Debug, false) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s["debug"] = boolean(*c.Debug) },
		changes:    []rule{{Class: plugin.Rolling, Reason: restarts}},
	},
	{
		path: "bpfSocketLBHostnsOnly.enabled",
		setDefault: func(c *v1alpha1.NetworkConfig) {
			plugin.OrDefault(&c.BPFSocketLBHostnsOnly, v1alpha1.BPFSocketLBHostnsOnly{})
		},
		tell: func(c *v1alpha1.NetworkConfig, s settings) {
			s.setIf(c.BPFSocketLBHostnsOnly.Enabled, "bpf-lb-sock-hostns-only", yes)
		},
		changes: []rule{
			idleWithKubeProxy,
			{Class: plugin.Rolling, Reason: restarts + "; only connections that pods open from then on are made in the other way"},
		},
	},
	{
		path:       "cni.exclusive",
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.CNI, v1alpha1.CNI{Exclusive: true}) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s["cni-exclusive"] = boolean(c.CNI.Exclusive) },
		changes: []rule{
			{Class: plugin.Rolling, Reason: restarts + "; pods that start from then on go through the other plugins as well, or no longer do"},
		},
	},
	{
		path:       "egressGateway.enabled", // validateEgressGateway has what it needs
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.EgressGateway, v1alpha1.EgressGateway{}) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s.setIf(c.EgressGateway.Enabled, egressGatewayKey, yes) },
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
				return c.After.Config.EgressGateway != nil && c.After.Config.EgressGateway.Enabled
			}, Reason: restarts + "; connections that selected pods open from then on go through gateways"},
			{Class: plugin.Disruptive, Reason: "connections through gateways break, and new ones come from the addresses of the pods' own nodes"},
		},
	},
	{
		path: "mtu",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if mtu := written.MTU; mtu != nil && (*mtu < 0 || *mtu > longestPacket) {
				found.Error(field.Invalid(path, *mtu, "must be a number from 1 to 65535; 0 lets Cilium find out"))
			}
		},
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.MTU, 0) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s.setIf(*c.MTU != 0, "mtu", strconv.Itoa(*c.MTU)) },
		changes:    []rule{{Class: plugin.Rolling, Reason: restarts + "; running pods may keep their MTU until they restart"}},
	},
	{
		path: "devices",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			for i, device := range written.Devices {
				validateDevice(found, path.Index(i), device)
			}
		},
		tell: func(c *v1alpha1.NetworkConfig, s settings) {
			s.setIf(len(c.Devices) > 0, "devices", strings.Join(c.Devices, " "))
		},
		changes: []rule{
			{Class: plugin.Disruptive, When: "if an interface may cease to be handled", If: losesDevice,
				Reason: "traffic of Services that comes in through an interface that is not listed any more is not handled"},
			{Class: plugin.Rolling, Reason: restarts + "; no interface ceases to be handled"},
		},
	},
	{
		path: "directRoutingDevice",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			if device := written.DirectRoutingDevice; device != nil {
				validateDevice(found, path, *device)
			}
		},
		tell: func(c *v1alpha1.NetworkConfig, s settings) {
			if device := c.DirectRoutingDevice; device != nil {
				s["direct-routing-device"] = *device
			}
		},
		changes: []rule{
			{Class: plugin.Disruptive, Reason: "nodes pass on packets to Services through another interface, and a connection that is open does not follow"},
		},
	},
	{
		path: "loadBalancingMode", // validateLoadBalancing has what dsr needs
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			plugin.OneOf(found, path, written.LoadBalancingMode, v1alpha1.SNAT, v1alpha1.DSR, v1alpha1.Hybrid)
		},
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.LoadBalancingMode, v1alpha1.SNAT) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s["bpf-lb-mode"] = string(*c.LoadBalancingMode) },
		changes: []rule{
			idleWithKubeProxy,
			{Class: plugin.Disruptive, Reason: "connections from outside that are open break where another node than the pod's answers for the Service"},
		},
	},
	{
		path:       "bgpControlPlane.enabled",
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.BGPControlPlane, v1alpha1.BGPControlPlane{}) },
		tell: func(c *v1alpha1.NetworkConfig, s settings) {
			s["enable-bgp-control-plane"] = boolean(c.BGPControlPlane.Enabled)
		},
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool {
				return c.After.Config.BGPControlPlane != nil && c.After.Config.BGPControlPlane.Enabled
			}, Reason: restarts},
			{Class: plugin.Disruptive, Reason: "routers outside lose the routes that were announced to them"},
		},
	},
	{
		path:       "policyAuditMode",
		setDefault: func(c *v1alpha1.NetworkConfig) { plugin.OrDefault(&c.PolicyAuditMode, false) },
		tell:       func(c *v1alpha1.NetworkConfig, s settings) { s.setIf(*c.PolicyAuditMode, "policy-audit-mode", yes) },
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.PolicyAuditMode) },
				Reason: restarts + "; NetworkPolicies are not enforced from then on"},
			{Class: plugin.Disruptive, Reason: "NetworkPolicies block from then on what they only reported"},
		},
	},
}

// withOrdinaryFields adds their changes to a policy.
func withOrdinaryFields(policy plugin.ChangePolicy[v1alpha1.NetworkConfig]) plugin.ChangePolicy[v1alpha1.NetworkConfig] {
	for _, each := range ordinaryFields {
		policy[each.path] = each.changes
	}
	return policy
}
