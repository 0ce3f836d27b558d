// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

const (
	// system is the namespace of all networks in the shoot.
	system = "example-system"
	// project is the namespace of the Shoots, whose names are those of the runs.
	project = "garden-rob"
	// controlPlane is the prefix of a run's namespace in the seed. The name of the run follows.
	controlPlane = "shoot--rob--"
	mainBundle   = "example-config"
)

// exampleConfig is the config of the network in the scenarios.
type exampleConfig struct {
	metav1.TypeMeta `json:",inline"`
	Color           string `json:"color,omitempty"`
	// Extra adds an object to the main bundle.
	Extra bool `json:"extra,omitempty"`
	// Later and Seed are the contents of an object in these bundles. An empty one adds no
	// object.
	Later string `json:"later,omitempty"`
	Seed  string `json:"seed,omitempty"`
	// InSteps has the color changed in steps.
	InSteps bool `json:"inSteps,omitempty"`
}

// examplePlugin renders a network of few objects. Their names have the name of the run, since all
// runs share one cluster.
type examplePlugin struct {
	exampleplugin.Example[exampleConfig]
}

func (examplePlugin) Default(config *exampleConfig, _ *plugin.Input, _ *plugin.Origins) {
	if config.Color == "" {
		config.Color = "red"
	}
}

// Transition implements plugin.Transitioner: between red and blue, a network is purple first.
func (examplePlugin) Transition(before, after plugin.State[exampleConfig]) (steps []plugin.Step[exampleConfig]) {
	from, to := before.Config.Color, after.Config.Color
	if !after.Config.InSteps || from == to {
		return nil
	}
	for _, color := range []string{"purple", to} {
		if color != from {
			config := *after.Config
			config.Color = color
			steps = append(steps, plugin.Step[exampleConfig]{Name: color, Config: &config})
		}
	}
	return steps
}

func (examplePlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	run := strings.TrimPrefix(facts.Namespace, controlPlane)
	network := []plugin.Object{
		&corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: meta(system, run+"-agent")},
		exampleplugin.ConfigMap(system, run+"-settings", effective.Color),
		&rbacv1.ClusterRole{
			TypeMeta: typeMeta("rbac.authorization.k8s.io/v1", "ClusterRole"), ObjectMeta: meta("", run+"-agent"),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get"}}},
		},
		daemonSet(run, effective.Color),
	}
	var extras, inSeed []plugin.Object
	if effective.Extra {
		network = append(network, exampleplugin.ConfigMap(system, run+"-extra", effective.Color))
	}
	if effective.Later != "" {
		extras = []plugin.Object{exampleplugin.ConfigMap(system, run+"-later", effective.Later)}
	}
	if effective.Seed != "" {
		inSeed = []plugin.Object{exampleplugin.ConfigMap(facts.Namespace, "in-seed", effective.Seed)}
	}
	components := []plugin.Component{{Name: "agents", Kind: "DaemonSet", Namespace: system, Workload: run + "-agent"}}
	return plugin.NewObjects(components, plugin.NetworkBundle(mainBundle, network),
		plugin.ExtrasBundle(mainBundle+"-later", extras), plugin.SeedBundle(mainBundle+"-seed", inSeed)), nil
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func daemonSet(run, color string) *appsv1.DaemonSet {
	labels := map[string]string{"app": run}
	return &appsv1.DaemonSet{
		TypeMeta: typeMeta("apps/v1", "DaemonSet"), ObjectMeta: meta(system, run+"-agent"),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(color)},
		},
	}
}

func podSpec(color string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "agent", Image: "example.org/agent:1", Env: []corev1.EnvVar{{Name: "COLOR", Value: color}},
	}}}
}
