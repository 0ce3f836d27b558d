// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

func TestResourcesAreOfCPUAndMemoryAndMoreThanZero(t *testing.T) {
	var found plugin.Findings
	system.ValidateResources(&found, field.NewPath("requests"), corev1.ResourceList{
		"cpu": resource.MustParse("0"), "gpu": resource.MustParse("1"), "memory": resource.MustParse("-1"),
	})
	var refused []string
	for _, err := range found.Errors {
		refused = append(refused, err.Field)
	}
	NewWithT(t).Expect(refused).To(Equal([]string{"requests.cpu", "requests.gpu", "requests.memory"}))
}

func TestRequestsTooSmallToStartAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		cpu, memory string
		warned      []string
	}{
		{"100m", "100Mi", nil},
		{"10m", "16Mi", nil},
		{"9m", "16Mi", []string{"resources.cpu"}},
		{"100m", "100", []string{"resources.memory"}},
		{"1n", "100m", []string{"resources.cpu", "resources.memory"}},
		{"0", "-1", nil}, // which are errors
	} {
		t.Run(test.cpu+" and "+test.memory, func(t *testing.T) {
			var found plugin.Findings
			system.ValidateResources(&found, field.NewPath("resources"), corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(test.cpu), corev1.ResourceMemory: resource.MustParse(test.memory),
			})
			var warned []string
			for _, warning := range found.Warnings {
				warned = append(warned, warning.Field)
			}
			NewWithT(t).Expect(warned).To(Equal(test.warned))
		})
	}
}
