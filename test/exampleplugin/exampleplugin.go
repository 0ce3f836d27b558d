// SPDX-License-Identifier: Apache-2.0

// Package exampleplugin has the network plugin of the tests of controllers.
package exampleplugin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// Example is the Definition of the network type "example" with the config C. It accepts every
// config, has no defaults, and renders nothing. The plugin of a test embeds it, and has only the
// methods that the test is about.
type Example[C any] struct{}

// Describe implements plugin.Definition.
func (Example[C]) Describe() plugin.Description {
	return plugin.Description{
		Type: "example", Origin: "example",
		ConfigVersions: []schema.GroupVersion{{Group: "example.trellis.network", Version: "v1"}},
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, DualStack: true},
	}
}

// Validate implements plugin.Definition.
func (Example[C]) Validate(*C, *plugin.Input, *field.Path) (none plugin.Findings) { return none }

// Default implements plugin.Definition.
func (Example[C]) Default(*C, *plugin.Input, *plugin.Origins) {}

// ValidateEffective implements plugin.Definition.
func (Example[C]) ValidateEffective(_, _ *C, _ *plugin.Input, _ *field.Path) (none plugin.Findings) {
	return none
}

// Classify implements plugin.Definition.
func (Example[C]) Classify(plugin.Change[C]) (plugin.ChangeClass, string) {
	return plugin.Safe, "nothing is interrupted"
}

// Render implements plugin.Definition.
func (Example[C]) Render(*C, *plugin.Input) (none plugin.Objects, err error) { return none, nil }

// ConfigMap returns a ConfigMap with one value, for Render: with its kind.
func ConfigMap(namespace, name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"content": content},
	}
}
