// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

// exampleConfig is the config of the network.
type exampleConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Mode is what the agents are told.
	Mode string `json:"mode,omitempty"`
	// Extra, if stated, is one more variable, label and object; Monitoring is an object
	// in the seed.
	Extra      string `json:"extra,omitempty"`
	Monitoring string `json:"monitoring,omitempty"`
}

type examplePlugin struct {
	exampleplugin.Example[exampleConfig]
}

func (p examplePlugin) Describe() plugin.Description {
	description := p.Example.Describe()
	description.Adopts = []plugin.Bundle{plugin.NetworkBundle("example-config", nil)}
	return description
}

func (examplePlugin) Validate(written *exampleConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if written.Mode == "unsupported" {
		found.Error(field.NotSupported(path.Child("mode"), written.Mode, []string{"first", "second"}))
	}
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(path, "this network does not mode Services: kube-proxy must be enabled"))
	}
	return found
}

func (examplePlugin) Default(config *exampleConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.Mode == "" {
		config.Mode = "first"
	}
}

// Render returns a workload, a Service and the rest that networks have. All names
// have the control plane's in them: the tests share one shoot. No node is selected.
func (examplePlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	mode := configMap(facts.Namespace, "mode", effective.Mode)
	var families []string
	for _, family := range facts.IPFamilies {
		families = append(families, string(family))
	}
	mode.Data["families"] = strings.Join(families, ",")
	agent := daemonSet(facts.Namespace, effective)
	account := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: named(facts.Namespace, "agent"),
	}
	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: named(facts.Namespace, "metrics"),
		Spec: corev1.ServiceSpec{Selector: agent.Spec.Selector.MatchLabels, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: facts.Namespace + "-agent"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}},
	}
	shoot := []plugin.Object{mode, account, role, service, agent}
	var seed []plugin.Object
	if effective.Extra != "" {
		mode.Labels = map[string]string{"extra": effective.Extra}
		mode.Annotations = map[string]string{"extra": effective.Extra}
		shoot = append(shoot, configMap(facts.Namespace, "extra", effective.Extra))
	}
	if effective.Monitoring != "" {
		monitoring := configMap(facts.Namespace, "monitoring", effective.Monitoring)
		monitoring.Namespace = facts.Namespace
		seed = []plugin.Object{monitoring}
	}
	components := []plugin.Component{{Name: "agent", Kind: "DaemonSet", Namespace: agent.Namespace, Workload: agent.Name}}
	return plugin.NewObjects(components, plugin.NetworkBundle("example-config", shoot), plugin.SeedBundle("example-config-seed", seed)), nil
}

func daemonSet(namespace string, config *exampleConfig) *appsv1.DaemonSet {
	labels := map[string]string{"agent": namespace}
	env := []corev1.EnvVar{{Name: "MODE", Value: config.Mode}}
	if config.Extra != "" {
		env = append(env, corev1.EnvVar{Name: "EXTRA", Value: config.Extra})
	}
	return &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: named(namespace, "agent"),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector:       map[string]string{"example": "only"},
					ServiceAccountName: namespace + "-agent",
					Containers:         []corev1.Container{{Name: "example", Image: "registry.example/example:v1", Env: env}},
				},
			},
		},
	}
}

func configMap(namespace, name, content string) *corev1.ConfigMap {
	return exampleplugin.ConfigMap(metav1.NamespaceSystem, namespace+"-"+name, content)
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: namespace + "-" + name}
}
