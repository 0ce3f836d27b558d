// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// stringConfig is the config of the network that these tests are about.
type stringConfig struct {
	metav1.TypeMeta `json:",inline"`
	Backend         string `json:"backend,omitempty"`
	// Knots, if stated, come later, Ear, if stated, is an object in the seed, and
	// Guard, if stated, one that looks after what others write: "who asks" whoever
	// answers, if anybody does.
	Knots string `json:"knots,omitempty"`
	Ear   string `json:"ear,omitempty"`
	Guard string `json:"guard,omitempty"`
}

type stringPlugin struct{}

func (stringPlugin) Describe() plugin.Description {
	return plugin.Description{
		Type:           "string",
		ConfigVersions: []schema.GroupVersion{{Group: "string.example.org", Version: "v1"}},
		Origin:         "string",
		Adopts:         []plugin.Bundle{plugin.NetworkBundle("string-config", nil), plugin.AdmissionBundle("string-guard", nil)},
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, DualStack: true},
	}
}

func (stringPlugin) Validate(written *stringConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "strings do not route Services"))
	}
	if written.Backend == "tangled" {
		found.Error(field.NotSupported(path.Child("backend"), written.Backend, []string{"none", "taut"}))
	}
	return found
}

func (stringPlugin) Default(config *stringConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.Backend == "" {
		config.Backend = "taut"
	}
}

func (stringPlugin) ValidateEffective(effective, _ *stringConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if effective.Backend == "none" {
		found.Warn(path.Child("backend"), "nobody will hear you")
	}
	return found
}

func (stringPlugin) Classify(change plugin.Change[stringConfig]) (plugin.ChangeClass, string) {
	if change.Path == "knots" {
		return plugin.Disruptive, "the string is cut"
	}
	return plugin.Safe, "it is only string"
}

func (stringPlugin) Render(effective *stringConfig, facts *plugin.Input) (plugin.Objects, error) {
	content := effective.Backend + facts.IPAM
	if len(facts.IPFamilies) > 1 {
		content += " twice"
	}
	var knots, guard, ear []plugin.Object
	if effective.Knots != "" {
		knots = []plugin.Object{configMap("kube-system", "knots", effective.Knots)}
	}
	switch ask := facts.Webhook; {
	case effective.Guard == "who asks" && ask != nil:
		guard = []plugin.Object{configMap("kube-system", "guard", ask.URL+" "+string(ask.CABundle))}
	case effective.Guard != "" && effective.Guard != "who asks":
		guard = []plugin.Object{configMap("kube-system", "guard", effective.Guard)}
	}
	if effective.Ear != "" {
		ear = []plugin.Object{configMap(facts.Namespace, "ear", effective.Ear)}
	}
	return plugin.NewObjects(
		[]plugin.Component{{Name: "cans", Kind: "DaemonSet", Namespace: "kube-system", Workload: "cans"}},
		plugin.NetworkBundle("string-config", []plugin.Object{configMap("kube-system", "string", content)}),
		plugin.ExtrasBundle("string-config-later", knots),
		plugin.AdmissionBundle("string-guard", guard),
		plugin.SeedBundle("string-config-seed", ear)), nil
}

// Precondition is that of a loose string, which a taut one must not become before
// the nodes have knots.
func (stringPlugin) Precondition(effective *stringConfig, _ *plugin.Input) *plugin.Precondition {
	if effective.Backend != "loose" {
		return nil
	}
	return &plugin.Precondition{
		Concerns: func(present []unstructured.Unstructured) bool {
			content, _, _ := unstructured.NestedString(present[0].Object, "data", "content")
			return content == "taut"
		},
		Condition: "Knotted", Status: corev1.ConditionTrue, Reason: "Twice",
		Because: "a loose string would fall off",
	}
}

// IPAM is what a string that was there before holds.
func (stringPlugin) IPAM(present []unstructured.Unstructured) string {
	heirloom, _, _ := unstructured.NestedString(present[0].Object, "data", "heirloom")
	return heirloom
}

func configMap(namespace, name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Data:       map[string]string{"content": content},
	}
}
