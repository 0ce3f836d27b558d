// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
)

// adapting is a Mutator.
type adapting struct {
	*fake[config]
	adapt func(labels map[string]string) bool
}

func (a adapting) Mutate(object *unstructured.Unstructured) (bool, error) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	before := maps.Clone(labels)
	changed := a.adapt(labels)
	if !maps.Equal(before, labels) {
		object.SetLabels(labels)
	}
	return changed, nil
}

func adapts(adapt func(labels map[string]string) bool) func() plugin.Plugin {
	return func() plugin.Plugin { return plugin.New[config](adapting{sound(), adapt}) }
}

// brokenMutators mutate what others write.
var brokenMutators = []broken{
	{check: "adaptation", how: "without end", says: "Mutate changes ServiceAccount kube-system/agent again", plugin: adapts(func(labels map[string]string) bool {
		labels["times"] += "again-"
		return true
	})},
	{check: "adaptation", how: "in secret", says: "that changed is false, and the opposite is true", plugin: adapts(func(labels map[string]string) bool {
		if labels["k8s-app"] != "" {
			labels["adapted"] = "yes"
		}
		return false
	})},
	{check: "adaptation", how: "in vain", says: "that changed is true, and the opposite is true", plugin: adapts(func(labels map[string]string) bool {
		return labels["k8s-app"] != ""
	})},
	{check: "adaptation", how: "by force", says: "the sound plugin panicked at broken_mutators_test.go:", plugin: adapts(func(labels map[string]string) bool {
		_ = map[string][]string{"agent": {"one"}}[labels["k8s-app"]][0]
		return false
	})},
}

func TestASoundMutatorPassesAllChecks(t *testing.T) {
	careful := adapts(func(labels map[string]string) bool {
		if labels["k8s-app"] != "agent" || labels["adapted"] != "" {
			return false
		}
		labels["adapted"] = "yes"
		return true
	})
	NewWithT(t).Expect(problems(t, careful(), soundOptions())).To(BeEmpty())
}
