// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"encoding/json"
	"errors"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/flannel/v1alpha1"
)

const (
	// configName is the ConfigMap that flannel's pods read, and its keys the files in
	// it.
	configName = "kube-flannel-cfg"
	cniKey     = "cni-conf.json"
	netKey     = "net-conf.json"
)

// netConf is what the daemon reads (flannel's Documentation/configuration.md). It has the
// daemon's own defaults, too.
type netConf struct {
	Network        string `json:"Network,omitempty"`
	IPv6Network    string `json:"IPv6Network,omitempty"`
	EnableIPv4     bool
	EnableIPv6     bool
	EnableNFTables bool
	Backend        backendConf
}

// backendConf is the backend's part of it (flannel's Documentation/backends.md).
type backendConf struct {
	Type          v1alpha1.BackendType
	VNI           *int32 `json:"VNI,omitempty"`
	Port          *int32 `json:"Port,omitempty"`
	MTU           *int32 `json:"MTU,omitempty"`
	DirectRouting *bool  `json:"DirectRouting,omitempty"`
}

// cniConf is what the container runtime reads: a chain of CNI plugins.
type cniConf struct {
	Name       string      `json:"name"`
	CNIVersion string      `json:"cniVersion"`
	Plugins    []cniPlugin `json:"plugins"`
}

type cniPlugin struct {
	Type         string          `json:"type"`
	Delegate     *delegate       `json:"delegate,omitempty"`
	Capabilities map[string]bool `json:"capabilities,omitempty"`
}

// delegate configures the CNI plugin bridge. Without mtu, flannel sets that of its daemon.
type delegate struct {
	HairpinMode      bool   `json:"hairpinMode"`
	IsDefaultGateway bool   `json:"isDefaultGateway"`
	MTU              *int32 `json:"mtu,omitempty"`
}

// settings returns the ConfigMap that flannel restarts for. Its labels are flannel's own, as its
// manifests have them.
func (n *network) settings() (*corev1.ConfigMap, error) {
	cni, cniErr := json.MarshalIndent(n.cniConf(), "", "  ")
	net, netErr := json.MarshalIndent(n.netConf(), "", "  ")
	return &corev1.ConfigMap{
		TypeMeta:   system.TypeMeta("v1", "ConfigMap"),
		ObjectMeta: system.Named(configName, map[string]string{"app": "flannel", "tier": "node", system.AppLabel: "flannel"}),
		Data:       map[string]string{cniKey: string(cni) + "\n", netKey: string(net) + "\n"},
	}, errors.Join(cniErr, netErr)
}

func (n *network) netConf() netConf {
	conf := netConf{
		EnableIPv4:     hasFamily(n.config, v1alpha1.IPv4),
		EnableIPv6:     hasFamily(n.config, v1alpha1.IPv6),
		EnableNFTables: *n.config.NFTables,
		Backend: backendConf{
			Type: *n.config.Backend.Type, VNI: n.config.Backend.VNI, Port: n.config.Backend.Port, DirectRouting: n.config.Backend.DirectRouting,
		},
	}
	if conf.EnableIPv4 {
		conf.Network = podRange(n.in, netip.Addr.Is4)
	}
	if conf.EnableIPv6 {
		conf.IPv6Network = podRange(n.in, netip.Addr.Is6)
	}
	if encapsulates(n.config) {
		conf.Backend.MTU = n.config.MTU
	}
	return conf
}

func (n *network) cniConf() cniConf {
	bridge := &delegate{HairpinMode: true, IsDefaultGateway: true}
	if !encapsulates(n.config) {
		bridge.MTU = n.config.MTU // host-gw has no MTU of its own to set
	}
	return cniConf{
		Name: "cbr0", CNIVersion: "0.3.1",
		Plugins: []cniPlugin{
			{Type: "flannel", Delegate: bridge},
			{Type: "portmap", Capabilities: map[string]bool{"portMappings": true}},
		},
	}
}
