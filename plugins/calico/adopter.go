// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

var _ plugin.Adopter = definition{}

// Inherit returns the checksums with which the autoscalers run. Gardener's extension has the same
// parameters for them, spelled in another way.
func (definition) Inherit(present []unstructured.Unstructured) plugin.Inherited {
	configs := map[string]string{}
	for _, name := range []string{"calico-typha-horizontal-autoscaler", "calico-typha-vertical-autoscaler", "calico-node-vertical-autoscaler"} {
		configs[system.ChecksumAnnotation(name)] = name
	}
	return plugin.Inherited{Checksums: system.StartedWith(present, configs)}
}

// MustInherit reports that without the checksums autoscalers restart once, which hurts nobody.
func (definition) MustInherit() bool { return false }
