// SPDX-License-Identifier: Apache-2.0

package calico

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// ConfigMap calico-config, and the keys under which containers find their part.
const (
	configName      = "calico-config"
	typhaServiceKey = "typha_service_name"
	backendKey      = "calico_backend"
	mtuKey          = "veth_mtu"
	cniConfigKey    = "cni_network_config"
)

func (n *network) cniConfig() *corev1.ConfigMap {
	typhaService := "none"
	if n.config.Typha.Enabled {
		typhaService = typhaName
	}
	return &corev1.ConfigMap{
		TypeMeta:   system.TypeMeta("v1", "ConfigMap"),
		ObjectMeta: system.Named(configName, nil),
		Data: map[string]string{
			typhaServiceKey: typhaService,
			backendKey:      string(*n.config.Backend),
			mtuKey:          mtuOf(n.config),
			cniConfigKey:    n.networkConfigList(),
		},
	}
}

// mtuOf returns the number as JSON spells it, without plus and leading zeros, since it is in
// the CNI configuration without quotes.
func mtuOf(c *v1alpha1.NetworkConfig) string {
	number, err := strconv.Atoi(*c.VethMTU)
	if err != nil {
		return *c.VethMTU // what validation refuses
	}
	return strconv.Itoa(number)
}

// networkConfigTemplate is the CNI configuration that container install-cni writes on each
// node. It puts the node's values where the placeholders are; that of the MTU is not in
// quotes, since the value is a number. __IPAM__ is for ipamPlugin.
//
//go:embed cni/10-calico.conflist
var networkConfigTemplate string

func (n *network) networkConfigList() string {
	ipam, err := json.MarshalIndent(n.ipamPlugin(), "      ", "  ")
	if err != nil {
		panic(fmt.Sprintf("the CNI configuration cannot be encoded: %v", err))
	}
	return strings.TrimSpace(strings.Replace(networkConfigTemplate, "__IPAM__", string(ipam), 1))
}

type ipamPlugin struct {
	Type       string        `json:"type"`
	Subnet     string        `json:"subnet,omitempty"`
	Ranges     [][]ipamRange `json:"ranges,omitempty"`
	AssignIPv4 string        `json:"assign_ipv4"`
	AssignIPv6 string        `json:"assign_ipv6"`
}

type ipamRange struct {
	Subnet string `json:"subnet"`
}

// ipamPlugin configures where pods get their addresses from. In dual-stack they get one of
// each family, from the node's own ranges.
func (n *network) ipamPlugin() ipamPlugin {
	ipam := ipamPlugin{
		Type:       string(n.config.IPAM.Type),
		AssignIPv4: strconv.FormatBool(hasIPv4(n.config)),
		AssignIPv6: strconv.FormatBool(hasIPv6(n.config)),
	}
	if isDualStack(n.config) {
		ipam.Ranges = [][]ipamRange{{{Subnet: v1alpha1.UsePodCIDRIPv6}}, {{Subnet: v1alpha1.UsePodCIDR}}}
	} else {
		ipam.Subnet = *n.config.IPAM.CIDR
	}
	return ipam
}
