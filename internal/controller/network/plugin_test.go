// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

// exampleConfig is the config of the network that these tests are about.
type exampleConfig struct {
	metav1.TypeMeta `json:",inline"`
	Backend         string `json:"backend,omitempty"`
	// Each adds a bundle if it is stated: Extras one that is applied later, Monitoring one
	// for the seed, Admission one that admits objects. With the value "webhook" the last
	// one has the address of the operator's webhook, if the operator serves one.
	Extras     string `json:"extras,omitempty"`
	Monitoring string `json:"monitoring,omitempty"`
	Admission  string `json:"admission,omitempty"`
}

type examplePlugin struct {
	exampleplugin.Example[exampleConfig]
}

func (p examplePlugin) Describe() plugin.Description {
	description := p.Example.Describe()
	description.Adopts = []plugin.Bundle{plugin.NetworkBundle("example-config", nil), plugin.AdmissionBundle("example-admission", nil)}
	return description
}

func (examplePlugin) Validate(written *exampleConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "this network does not route Services"))
	}
	if written.Backend == "unknown" {
		found.Error(field.NotSupported(path.Child("backend"), written.Backend, []string{"none", "overlay"}))
	}
	return found
}

func (examplePlugin) Default(config *exampleConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.Backend == "" {
		config.Backend = "overlay"
	}
}

func (examplePlugin) ValidateEffective(effective, _ *exampleConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if effective.Backend == "none" {
		found.Warn(path.Child("backend"), "pods cannot talk to each other")
	}
	return found
}

func (p examplePlugin) Classify(change plugin.Change[exampleConfig]) (plugin.ChangeClass, string) {
	if change.Path == "extras" {
		return plugin.Disruptive, "the extras are replaced"
	}
	return p.Example.Classify(change)
}

func (examplePlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	content := effective.Backend + facts.IPAM
	if len(facts.IPFamilies) > 1 {
		content += " dual-stack"
	}
	var extras, admission, monitoring []plugin.Object
	if effective.Extras != "" {
		extras = []plugin.Object{exampleplugin.ConfigMap("kube-system", "extras", effective.Extras)}
	}
	switch ask := facts.Webhook; {
	case effective.Admission == "webhook" && ask != nil:
		admission = []plugin.Object{exampleplugin.ConfigMap("kube-system", "admission", ask.URL+" "+string(ask.CABundle))}
	case effective.Admission != "" && effective.Admission != "webhook":
		admission = []plugin.Object{exampleplugin.ConfigMap("kube-system", "admission", effective.Admission)}
	}
	if effective.Monitoring != "" {
		monitoring = []plugin.Object{exampleplugin.ConfigMap(facts.Namespace, "monitoring", effective.Monitoring)}
	}
	return plugin.NewObjects(
		[]plugin.Component{{Name: "agent", Kind: "DaemonSet", Namespace: "kube-system", Workload: "agent"}},
		plugin.NetworkBundle("example-config", []plugin.Object{exampleplugin.ConfigMap("kube-system", "example", content)}),
		plugin.ExtrasBundle("example-config-later", extras),
		plugin.AdmissionBundle("example-admission", admission),
		plugin.SeedBundle("example-config-seed", monitoring)), nil
}

// DescribeDataPath tells only how packets travel through a tunnel, or over routes of the infrastructure.
func (examplePlugin) DescribeDataPath(effective *exampleConfig) plugin.DataPath {
	switch effective.Backend {
	case "tunnel":
		return plugin.DataPath{Packets: "through a tunnel", Router: "the agents"}
	case "native":
		return plugin.DataPath{Packets: "no encapsulation"}
	}
	return plugin.DataPath{}
}

// Precondition is that of a routed network, which one with an overlay must not become before
// the nodes have extras.
func (examplePlugin) Precondition(effective *exampleConfig, _ *plugin.Input) *plugin.Precondition {
	if effective.Backend != "routed" {
		return nil
	}
	return &plugin.Precondition{
		AppliesTo: func(present []unstructured.Unstructured) bool {
			content, _, _ := unstructured.NestedString(present[0].Object, "data", "content")
			return content == "overlay"
		},
		Condition: "Prepared", Status: corev1.ConditionTrue, Reason: "Verified",
		Explanation: "routed pods need prepared nodes",
	}
}

// Inherit returns the IPAM that a network has that was there before.
func (examplePlugin) Inherit(present []unstructured.Unstructured) plugin.Inherited {
	ipam, _, _ := unstructured.NestedString(present[0].Object, "data", "ipam")
	return plugin.Inherited{IPAM: ipam}
}

func (examplePlugin) MustInherit() bool { return true }
