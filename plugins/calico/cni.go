// SPDX-License-Identifier: Apache-2.0

package calico

import (
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
	configName       = "calico-config"
	typhaServiceKey  = "typha_service_name"
	backendKey       = "calico_backend"
	mtuKey           = "veth_mtu"
	cniConfigKey     = "cni_network_config"
	noTypha          = "none"
	mtuPlaceholder   = "__CNI_MTU__"
	cniConfigName    = "10-calico.conflist"
	cniSchemaVersion = "0.3.1"
)

func (n *network) cniConfig() *corev1.ConfigMap {
	typhaService := noTypha
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

// mtuOf is the number as JSON spells it, since it comes into the CNI configuration as it
// is: no plus and no zero before it.
func mtuOf(c *v1alpha1.NetworkConfig) string {
	number, err := strconv.Atoi(*c.VethMTU)
	if err != nil {
		return *c.VethMTU // what validation refuses
	}
	return strconv.Itoa(number)
}

// networkConfigList is the CNI configuration that container install-cni writes on
// each node, after it has put the node's values where the placeholders are.
type networkConfigList struct {
	Name       string `json:"name"`
	CNIVersion string `json:"cniVersion"`
	Plugins    []any  `json:"plugins"`
}

type calicoPlugin struct {
	Type          string         `json:"type"`
	LogLevel      string         `json:"log_level"`
	LogFilePath   string         `json:"log_file_path"`
	DatastoreType string         `json:"datastore_type"`
	NodeName      string         `json:"nodename"`
	MTU           string         `json:"mtu"`
	IPAM          ipamPlugin     `json:"ipam"`
	Policy        policyConfig   `json:"policy"`
	Kubernetes    kubeconfigFile `json:"kubernetes"`
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

type policyConfig struct {
	Type string `json:"type"`
}

type kubeconfigFile struct {
	Kubeconfig string `json:"kubeconfig"`
}

type portmapPlugin struct {
	Type         string              `json:"type"`
	SNAT         bool                `json:"snat"`
	Capabilities portmapCapabilities `json:"capabilities"`
}

type portmapCapabilities struct {
	PortMappings bool `json:"portMappings"`
}

func (n *network) networkConfigList() string {
	list := networkConfigList{
		Name:       "k8s-pod-network",
		CNIVersion: cniSchemaVersion,
		Plugins: []any{
			calicoPlugin{
				Type:          "calico",
				LogLevel:      "error",
				LogFilePath:   "/var/log/calico/cni/cni.log",
				DatastoreType: datastore,
				NodeName:      "__KUBERNETES_NODE_NAME__",
				MTU:           mtuPlaceholder,
				IPAM:          n.ipamPlugin(),
				Policy:        policyConfig{Type: "k8s"},
				Kubernetes:    kubeconfigFile{Kubeconfig: "__KUBECONFIG_FILEPATH__"},
			},
			portmapPlugin{Type: "portmap", SNAT: true, Capabilities: portmapCapabilities{PortMappings: true}},
		},
	}
	document, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("the CNI configuration cannot be encoded: %v", err))
	}
	// The number that comes there must not be in quotes, and JSON has no other
	// way to leave it open.
	return strings.Replace(string(document), `"`+mtuPlaceholder+`"`, mtuPlaceholder, 1)
}

// ipamPlugin says where pods get their addresses from. With two families they get
// one of each, from the node's own ranges.
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
