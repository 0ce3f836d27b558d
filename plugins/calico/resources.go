// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// requests are what a container asks for. The quantities are constants of this
// package.
func requests(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// withDefaults completes a resource list, resource by resource.
func withDefaults(list corev1.ResourceList, cpu, memory string) corev1.ResourceList {
	complete := requests(cpu, memory)
	maps.Copy(complete, list)
	return complete
}
