// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	ipv4PoolName   = "default-ipv4-ippool"
	ipv6PoolName   = "default-ipv6-ippool"
	noSNATPoolName = "no-snat-for-node-cidr"
	ipv4BlockSize  = 26
	ipv6BlockSize  = 122
)

// ipPool is Calico's IPPool as far as this plugin writes it.
type ipPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec ipPoolSpec `json:"spec"`
}

type ipPoolSpec struct {
	AllowedUses      []string          `json:"allowedUses,omitempty"`
	BlockSize        int               `json:"blockSize,omitempty"`
	CIDR             string            `json:"cidr"`
	IPIPMode         v1alpha1.PoolMode `json:"ipipMode,omitempty"`
	VXLANMode        v1alpha1.PoolMode `json:"vxlanMode,omitempty"`
	NATOutgoing      *bool             `json:"natOutgoing,omitempty"`
	NodeSelector     string            `json:"nodeSelector,omitempty"`
	Disabled         bool              `json:"disabled,omitempty"`
	DisableBGPExport bool              `json:"disableBGPExport,omitempty"`
}

// DeepCopyObject makes an ipPool a runtime.Object.
func (p *ipPool) DeepCopyObject() runtime.Object {
	copied := *p
	copied.ObjectMeta = *p.ObjectMeta.DeepCopy()
	copied.Spec.AllowedUses = slices.Clone(p.Spec.AllowedUses)
	if nat := p.Spec.NATOutgoing; nat != nil {
		copied.Spec.NATOutgoing = new(*nat)
	}
	return &copied
}

// pools are the address pools among the network's objects.
type pools struct{ *network }

// objects returns no pool for IPv4 without overlay in the config; calico-node then makes one
// when it first starts.
func (p pools) objects() []plugin.Object {
	var objects []plugin.Object
	if hasIPv4(p.config) && p.config.Overlay != nil {
		objects = append(objects, p.ipv4())
	}
	if nodes := unmasqueraded(p.config, p.in); nodes != "" {
		// Packets into any pool keep their source address. So a pool that gives no addresses
		// lets nodes see the addresses of pods.
		objects = append(objects, pool(noSNATPoolName, ipPoolSpec{CIDR: nodes, Disabled: true, DisableBGPExport: true}))
	}
	if hasIPv6(p.config) {
		objects = append(objects, p.ipv6())
	}
	return objects
}

// unmasqueraded returns the range of the nodes that see the addresses of pods; empty if there
// is none. Pods without IPv6 do not reach an IPv6 range.
func unmasqueraded(c *v1alpha1.NetworkConfig, in *plugin.Input) string {
	if !hasIPv4(c) || !overlayOff(c) || !hasIPv6(c) && isIPv6Range(in.NodeCIDR) {
		return ""
	}
	return in.NodeCIDR
}

func (p pools) ipv4() *ipPool {
	spec := podPool(podRangeIPv4(p.in), ipv4BlockSize, true)
	switch encapsulationOf(p.config) {
	case ipip:
		spec.IPIPMode = v1alpha1.Always
	case vxlan:
		spec.VXLANMode = v1alpha1.Always
	}
	return pool(ipv4PoolName, spec)
}

// ipv6 never encapsulates: Calico only routes IPv6.
func (p pools) ipv6() *ipPool {
	return pool(ipv6PoolName, podPool(podRangeIPv6(p.in), ipv6BlockSize, *p.config.IPv6.SourceNATEnabled))
}

// podPool is a pool for the addresses of pods and tunnels, without encapsulation.
func podPool(cidr string, blockSize int, natOutgoing bool) ipPoolSpec {
	return ipPoolSpec{
		AllowedUses:  []string{"Workload", "Tunnel"},
		BlockSize:    blockSize,
		CIDR:         cidr,
		IPIPMode:     v1alpha1.Never,
		VXLANMode:    v1alpha1.Never,
		NATOutgoing:  &natOutgoing,
		NodeSelector: "all()",
	}
}

func pool(name string, spec ipPoolSpec) *ipPool {
	return &ipPool{
		TypeMeta:   system.TypeMeta("crd.projectcalico.org/v1", "IPPool"),
		ObjectMeta: system.ClusterWide(name),
		Spec:       spec,
	}
}
