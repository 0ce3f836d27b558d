// SPDX-License-Identifier: Apache-2.0

package system

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// What every agent needs to start. Who writes less has most likely left out a unit.
var leastCPU, leastMemory = resource.MustParse("10m"), resource.MustParse("16Mi")

// WarnOfSmallResources warns of requests or limits at path with which no agent starts.
func WarnOfSmallResources(found *plugin.Findings, path *field.Path, list corev1.ResourceList) {
	if cpu, has := list[corev1.ResourceCPU]; has && cpu.Sign() > 0 && cpu.Cmp(leastCPU) < 0 {
		found.Warn(path.Child("cpu"), "it is too little for agents to start in time; write at least 10m, or leave it out")
	}
	if memory, has := list[corev1.ResourceMemory]; has && memory.Sign() > 0 && memory.Cmp(leastMemory) < 0 {
		found.Warn(path.Child("memory"), "it is too little for agents to start, and without a unit it counts bytes; write at least 16Mi, or leave it out")
	}
}
