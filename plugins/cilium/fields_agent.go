// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium/v1alpha1"
)

// agentFields are about what agents do beside moving packets.
var agentFields = []configField{
	{
		path:       "debug",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.Debug, false) },
		configure:  func(c ciliumConfig, s settings) { s["debug"] = boolean(*c.config.Debug) },
		changes:    []rule{{Class: plugin.Rolling, Reason: restarts}},
	},
	{
		path: "store",
		validate: func(written *v1alpha1.NetworkConfig, found *plugin.Findings, path *field.Path) {
			plugin.OneOf(found, path, written.Store, v1alpha1.KubernetesStore)
		},
		changes: []rule{{Class: plugin.Safe, Reason: "the field has no effect"}},
	},
	{
		path:       "cni.exclusive",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.CNI, v1alpha1.CNI{Exclusive: true}) },
		configure:  func(c ciliumConfig, s settings) { s["cni-exclusive"] = boolean(c.config.CNI.Exclusive) },
		changes: []rule{
			{Class: plugin.Rolling, Reason: restarts + "; pods that start from then on go through the other plugins as well, or no longer do"},
		},
	},
	{
		path:       "hubble.enabled",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.Hubble, v1alpha1.Hubble{}) },
		configure:  configureHubble,
		changes:    []rule{{Class: plugin.Rolling, Reason: restarts + "; flows that they have recorded are lost"}},
	},
	{
		path:       "policyAuditMode",
		setDefault: func(d *defaulting) { plugin.OrDefault(&d.config.PolicyAuditMode, false) },
		configure:  func(c ciliumConfig, s settings) { s.setIf(*c.config.PolicyAuditMode, "policy-audit-mode", yes) },
		changes: []rule{
			{Class: plugin.Rolling, When: "if switched on", If: func(c change) bool { return isTrue(c.After.Config.PolicyAuditMode) },
				Reason: restarts + "; NetworkPolicies are not enforced from then on"},
			{Class: plugin.Disruptive, Reason: "NetworkPolicies block from then on what they only reported"},
		},
	},
}

// flowLabels are the labels by which Hubble's HTTP metrics name source and destination.
const flowLabels = "source_ip,source_namespace,source_workload,destination_ip,destination_namespace,destination_workload,traffic_direction"

func configureHubble(c ciliumConfig, s settings) {
	if !c.config.Hubble.Enabled {
		return
	}
	s["enable-hubble"] = yes
	s["hubble-socket-path"] = "/var/run/cilium/hubble.sock"
	s["hubble-listen-address"] = ":4244"
	s["hubble-metrics-server"], s["hubble-metrics-server-enable-tls"] = ":9091", "false"
	s["hubble-metrics"] = "dns drop tcp flow port-distribution icmp httpV2:labelsContext=" + flowLabels
}
