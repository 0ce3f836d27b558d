// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// running are a ConfigMap and a Deployment that was started with a checksum.
func running(data, checksum string) []unstructured.Unstructured {
	return []unstructured.Unstructured{
		{Object: map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "agent-config"}, "data": map[string]any{"config": data}}},
		{Object: map[string]any{"kind": "Deployment", "spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"checksum/configmap-agent": checksum}}}}}},
	}
}

// Pods keep the checksum that they were started with for the same data, in whatever way that is
// spelled, and get a new one for other data.
func TestPodsKeepTheChecksumThatTheyWereStartedWith(t *testing.T) {
	g := NewWithT(t)
	configs := map[string]string{"checksum/configmap-agent": "agent-config"}
	sum := func(data string) string {
		return system.Checksum(&corev1.ConfigMap{Data: map[string]string{"config": data}})
	}
	kept := plugin.Inherited{Checksums: system.StartedWith(running("{\n  \"a\": [1, 2]\n}", "theirs"), configs)}
	g.Expect(kept.StartedWith(sum(`{"a":[1,2]}`))).To(Equal("theirs"))
	g.Expect(kept.StartedWith(sum(`{"a":[2,1]}`))).To(Equal(sum(`{"a":[2,1]}`)))

	for name, present := range map[string][]unstructured.Unstructured{
		"there is nothing":               nil,
		"the ConfigMap is missing":       running("a", "theirs")[1:],
		"it is as a new network has it":  running("a", sum("a")),
		"the value is no checksum":       running("a", strings.Repeat("x", 129)),
		"the annotation is empty":        running("a", ""),
		"the data has no checksum there": running("a", "theirs")[:1],
	} {
		g.Expect(system.StartedWith(present, configs)).To(BeNil(), name)
	}
}
