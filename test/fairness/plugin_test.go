// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
)

// objects is how many ConfigMaps a network consists of.
const objects = 6

// flockConfig is the config of a network.
type flockConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Round is in each object. In each second one the network's only component is
	// missing, so that its health changes, too.
	Round int `json:"round,omitempty"`
}

// flockPlugin is a network of few objects, in a namespace of the control plane's name:
// one API server plays all shoots. It has two ManagedResources, so that there is more
// to do for a shoot than one worker can.
type flockPlugin struct{}

func (flockPlugin) Describe() plugin.Description {
	return plugin.Description{
		Type:           "flock",
		ConfigVersions: []schema.GroupVersion{{Group: "flock.example.org", Version: "v1"}},
		Origin:         "flock",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true},
	}
}

func (flockPlugin) Validate(*flockConfig, *plugin.Input, *field.Path) plugin.Findings {
	return plugin.Findings{}
}

func (flockPlugin) Default(*flockConfig, *plugin.Input, *plugin.Origins) {}

func (flockPlugin) ValidateEffective(_, _ *flockConfig, _ *plugin.Input, _ *field.Path) plugin.Findings {
	return plugin.Findings{}
}

func (flockPlugin) Classify(plugin.Change[flockConfig]) (plugin.ChangeClass, string) {
	return plugin.Safe, "nothing depends on it"
}

func (flockPlugin) Render(effective *flockConfig, facts *plugin.Input) (plugin.Objects, error) {
	network := []plugin.Object{&corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: facts.Namespace},
	}}
	for i := range objects {
		network = append(network, configMap(facts.Namespace, fmt.Sprintf("c%d", i), effective.Round))
	}
	if complete(effective.Round) {
		network = append(network, agents(facts.Namespace))
	}
	components := []plugin.Component{{Name: "agents", Kind: "Deployment", Namespace: facts.Namespace, Workload: "agents"}}
	return plugin.NewObjects(components, plugin.NetworkBundle("flock", network),
		plugin.ExtrasBundle("flock-later", []plugin.Object{configMap(facts.Namespace, "later", effective.Round)})), nil
}

// complete says whether a network has its component in a round.
func complete(round int) bool { return round%2 == 1 }

func configMap(namespace, name string, round int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string]string{"round": fmt.Sprint(round)},
	}
}

// agents is a workload that is healthy as soon as its controller has seen it.
func agents(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "agents"}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agents"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example.org/agent:1"}},
			}},
		},
	}
}
