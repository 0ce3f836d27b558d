// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
)

var _ plugin.Adopter = definition{}

// IPAM returns what the network's own ConfigMap says. Old networks have cluster-pool, and
// keep it.
func (definition) IPAM(present []unstructured.Unstructured) string {
	for _, object := range present {
		if object.GetKind() == "ConfigMap" && object.GetName() == configName && object.GetNamespace() == namespace {
			mode, _, _ := unstructured.NestedString(object.Object, "data", ipamKey)
			return mode
		}
	}
	return ""
}
