// SPDX-License-Identifier: Apache-2.0

package calico

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

const (
	defaultPoolName = "default-ipv4-ippool"
	noSNATPoolName  = "no-snat-for-node-cidr"
	ipv4BlockSize   = 26
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
	NATOutgoing      bool              `json:"natOutgoing,omitempty"`
	NodeSelector     string            `json:"nodeSelector,omitempty"`
	Disabled         bool              `json:"disabled,omitempty"`
	DisableBGPExport bool              `json:"disableBGPExport,omitempty"`
}

// DeepCopyObject makes an ipPool a runtime.Object.
func (p *ipPool) DeepCopyObject() runtime.Object {
	copied := *p
	copied.ObjectMeta = *p.ObjectMeta.DeepCopy()
	copied.Spec.AllowedUses = append([]string(nil), p.Spec.AllowedUses...)
	return &copied
}

// pools are the address pools that are stated. Without overlay in the config
// there is none, and calico-node makes its own when it first starts.
func (n *network) pools() []plugin.Object {
	if n.config.Overlay == nil {
		return nil
	}
	spec := ipPoolSpec{
		AllowedUses:  []string{"Workload", "Tunnel"},
		BlockSize:    ipv4BlockSize,
		CIDR:         n.facts.PodCIDR,
		IPIPMode:     v1alpha1.Never,
		VXLANMode:    v1alpha1.Never,
		NATOutgoing:  true,
		NodeSelector: "all()",
	}
	switch encapsulationOf(n.config) {
	case ipip:
		spec.IPIPMode = v1alpha1.Always
	case vxlan:
		spec.VXLANMode = v1alpha1.Always
	}
	pools := []plugin.Object{pool(defaultPoolName, spec)}
	if overlayOff(n.config) && n.facts.NodeCIDR != "" {
		// What is sent into any pool keeps its source address. A pool that gives no
		// addresses therefore lets nodes see pods as they are.
		pools = append(pools, pool(noSNATPoolName, ipPoolSpec{CIDR: n.facts.NodeCIDR, Disabled: true, DisableBGPExport: true}))
	}
	return pools
}

func pool(name string, spec ipPoolSpec) *ipPool {
	return &ipPool{
		TypeMeta:   typeMeta(calicoGroup+"/v1", "IPPool"),
		ObjectMeta: clusterWide(name),
		Spec:       spec,
	}
}
