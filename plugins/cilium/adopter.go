// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

var _ plugin.Adopter = definition{}

// Inherit returns the IPAM that the network's own ConfigMap states: old networks have
// cluster-pool, and keep it. Gardener's extension has the policies of Cilium's own kinds in one
// bundle with everything else. cilium-operator need not restart where it reads what it has read.
func (definition) Inherit(present []unstructured.Unstructured) plugin.Inherited {
	kept := plugin.Inherited{}
	for _, object := range present {
		if object.GetKind() == "ConfigMap" && object.GetName() == configName && object.GetNamespace() == namespace {
			kept.IPAM, _, _ = unstructured.NestedString(object.Object, "data", ipamKey)
		}
		if strings.HasPrefix(object.GetAPIVersion(), "cilium.io/") {
			kept.OneBundle = true
		}
	}
	kept.Checksums = system.StartedWith(present, map[string]string{configChecksum: configName})
	return kept
}

// MustInherit reports that with another IPAM pods would get addresses that are in use.
func (definition) MustInherit() bool { return true }
