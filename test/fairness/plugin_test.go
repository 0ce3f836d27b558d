// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

// objects is the number of ConfigMaps in a network.
const objects = 6

// exampleConfig is the config of a network.
type exampleConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Round is in each object. In every other round the network's only component is missing,
	// so that its health changes too.
	Round int `json:"round,omitempty"`
}

// examplePlugin renders a network of few objects. They are in a namespace that is named after
// the control plane, since all shoots are the same API server. A network has two
// ManagedResources, so that a shoot could occupy more than one worker.
type examplePlugin struct {
	exampleplugin.Example[exampleConfig]
}

func (examplePlugin) Render(effective *exampleConfig, facts *plugin.Input) (plugin.Objects, error) {
	network := []plugin.Object{&corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: facts.Namespace},
	}}
	for i := range objects {
		network = append(network, exampleplugin.ConfigMap(facts.Namespace, fmt.Sprintf("c%d", i), fmt.Sprint(effective.Round)))
	}
	if complete(effective.Round) {
		network = append(network, agents(facts.Namespace))
	}
	components := []plugin.Component{{Name: "agents", Kind: "Deployment", Namespace: facts.Namespace, Workload: "agents"}}
	return plugin.NewObjects(components, plugin.NetworkBundle("example", network),
		plugin.ExtrasBundle("example-later", []plugin.Object{exampleplugin.ConfigMap(facts.Namespace, "later", fmt.Sprint(effective.Round))})), nil
}

// complete reports whether a network has its component in a round.
func complete(round int) bool { return round%2 == 1 }

// agents returns a workload that is healthy as soon as its controller has seen it.
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
