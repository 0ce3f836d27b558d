// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// pigeonConfig is the config of a network of carrier pigeons.
type pigeonConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Route is what the pods are told.
	Route string `json:"route,omitempty"`
	// Loft, if stated, is one more variable, label and object; Coop is one in the
	// seed.
	Loft string `json:"loft,omitempty"`
	Coop string `json:"coop,omitempty"`
}

type pigeons struct{}

func (pigeons) Describe() plugin.Description {
	return plugin.Description{
		Type:           "pigeon",
		ConfigVersions: []schema.GroupVersion{{Group: "pigeon.example.org", Version: "v1"}},
		Origin:         "pigeon", Adopts: []plugin.Bundle{plugin.NetworkBundle("pigeon-config", nil)},
		IPFamilies: plugin.IPFamilySupport{IPv4: true, DualStack: true},
	}
}

func (pigeons) Validate(written *pigeonConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if written.Route == "nowhere" {
		found.Error(field.NotSupported(path.Child("route"), written.Route, []string{"home", "away"}))
	}
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(path, "pigeons do not fly to Services: kube-proxy must be enabled"))
	}
	return found
}

func (pigeons) Default(config *pigeonConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.Route == "" {
		config.Route = "home"
	}
}

func (pigeons) ValidateEffective(_, _ *pigeonConfig, _ *plugin.Input, _ *field.Path) plugin.Findings {
	return plugin.Findings{}
}

func (pigeons) Classify(plugin.Change[pigeonConfig]) (plugin.ChangeClass, string) {
	return plugin.Safe, "pigeons learn"
}

// Render returns a workload, a Service and the rest that networks have. All names
// have the control plane's in them: the tests share one shoot. No node is selected.
func (pigeons) Render(effective *pigeonConfig, facts *plugin.Input) (plugin.Objects, error) {
	route := configMap(facts.Namespace, "route", effective.Route)
	var families []string
	for _, family := range facts.IPFamilies {
		families = append(families, string(family))
	}
	route.Data["families"] = strings.Join(families, ",")
	flock := daemonSet(facts.Namespace, effective)
	account := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: named(facts.Namespace, "flock"),
	}
	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: named(facts.Namespace, "post"),
		Spec: corev1.ServiceSpec{Selector: flock.Spec.Selector.MatchLabels, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: facts.Namespace + "-flock"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}},
	}
	shoot := []plugin.Object{route, account, role, service, flock}
	var seed []plugin.Object
	if effective.Loft != "" {
		route.Labels = map[string]string{"loft": effective.Loft}
		route.Annotations = map[string]string{"loft": effective.Loft}
		shoot = append(shoot, configMap(facts.Namespace, "loft", effective.Loft))
	}
	if effective.Coop != "" {
		coop := configMap(facts.Namespace, "coop", effective.Coop)
		coop.Namespace = facts.Namespace
		seed = []plugin.Object{coop}
	}
	components := []plugin.Component{{Name: "flock", Kind: "DaemonSet", Namespace: flock.Namespace, Workload: flock.Name}}
	return plugin.NewObjects(components, plugin.NetworkBundle("pigeon-config", shoot), plugin.SeedBundle("pigeon-config-seed", seed)), nil
}

func daemonSet(namespace string, config *pigeonConfig) *appsv1.DaemonSet {
	labels := map[string]string{"flock": namespace}
	env := []corev1.EnvVar{{Name: "ROUTE", Value: config.Route}}
	if config.Loft != "" {
		env = append(env, corev1.EnvVar{Name: "LOFT", Value: config.Loft})
	}
	return &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: named(namespace, "flock"),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector:       map[string]string{"pigeons": "only"},
					ServiceAccountName: namespace + "-flock",
					Containers:         []corev1.Container{{Name: "pigeon", Image: "registry.example/pigeon:v1", Env: env}},
				},
			},
		},
	}
}

func configMap(namespace, name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: named(namespace, name),
		Data: map[string]string{"content": content},
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: namespace + "-" + name}
}
