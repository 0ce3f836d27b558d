// SPDX-License-Identifier: Apache-2.0

package system

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// What every agent needs to start. Who writes less has most likely left out a unit.
var leastCPU, leastMemory = resource.MustParse("10m"), resource.MustParse("16Mi")

// ValidateResources checks the requests or limits of an agent, which are at path: of cpu and
// memory, and more than zero. It warns of those with which no agent starts.
func ValidateResources(found *plugin.Findings, path *field.Path, list corev1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity, at := list[name], path.Child(string(name))
		switch {
		case name != corev1.ResourceCPU && name != corev1.ResourceMemory:
			found.Error(field.Invalid(at, string(name), "must be cpu or memory; leave this one out"))
		case quantity.Sign() <= 0:
			found.Error(field.Invalid(at, quantity.String(), "must be more than zero; write an amount such as 250m of cpu or 100Mi of memory, or leave it out"))
		}
	}
	if cpu, has := list[corev1.ResourceCPU]; has && cpu.Sign() > 0 && cpu.Cmp(leastCPU) < 0 {
		found.Warn(path.Child("cpu"), "it is too little for agents to start in time; write at least 10m, or leave it out")
	}
	if memory, has := list[corev1.ResourceMemory]; has && memory.Sign() > 0 && memory.Cmp(leastMemory) < 0 {
		found.Warn(path.Child("memory"), "it is too little for agents to start, and without a unit it counts bytes; write at least 16Mi, or leave it out")
	}
}
