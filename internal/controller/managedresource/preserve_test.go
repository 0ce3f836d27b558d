// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// With preserve-resources, CPU and memory stay as they are in the shoot, even if no other
// client has ever set them. The operator sets those that the object lacks.
func TestPreservedResourcesOutliveWhatIsStatedLater(t *testing.T) {
	contract.Shows(t, "R11")
	e := newEnv(t)
	d := e.deployment("d", map[string]string{resourcesv1alpha1.PreserveResources: "true"})
	container := &d.Spec.Template.Spec.Containers[0]
	state := func(image string, requests corev1.ResourceList) {
		container.Image, container.Resources.Requests = image, requests
		e.state("network", d)
		e.becomesGood("network")
		e.Expect(live(e, d).Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	}
	requests := func() []string {
		all := live(e, d).Spec.Template.Spec.Containers[0].Resources.Requests
		return []string{all.Cpu().String(), all.Memory().String(), all.StorageEphemeral().String()}
	}
	quantities := func(cpu, memory, storage string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "ephemeral-storage": resource.MustParse(storage)}
	}
	e.operator()
	state("registry.example/agent:1", corev1.ResourceList{"cpu": resource.MustParse("10m")})
	state("registry.example/agent:2", quantities("20m", "30Mi", "40Mi"))
	e.Expect(requests()).To(Equal([]string{"10m", "30Mi", "40Mi"}))
	state("registry.example/agent:3", quantities("30m", "40Mi", "50Mi"))
	e.Expect(requests()).To(Equal([]string{"10m", "30Mi", "50Mi"}))
	state("registry.example/agent:4", nil)
	e.Expect(requests()).To(Equal([]string{"10m", "30Mi", "0"}))
}

// The operator removes a label or annotation that the Secrets no longer state, unless
// another client has changed its value.
func TestFormerLabelsThatOthersHaveChangedStay(t *testing.T) {
	contract.Shows(t, "R10")
	e := newEnv(t)
	one := e.configMap("one", "key", "value")
	one.Labels = map[string]string{"changed": "ours", "unchanged": "ours"}
	one.Annotations = map[string]string{"changed": "ours", "unchanged": "ours"}
	e.state("network", one)
	stop := e.operator()
	e.becomesGood("network")
	stop()
	change(e, one, func(cm *corev1.ConfigMap) {
		cm.Labels["changed"], cm.Annotations["changed"] = "theirs", "theirs"
		cm.Data["key"] = "theirs"
	})
	bare := one.DeepCopy()
	bare.Labels, bare.Annotations = nil, nil
	e.state("network", bare)
	e.operator()
	e.becomesGood("network")
	now := live(e, one)
	e.Expect(now.Data).To(Equal(one.Data))
	for _, all := range []map[string]string{now.Labels, now.Annotations} {
		e.Expect(all).To(And(HaveKeyWithValue("changed", "theirs"), Not(HaveKey("unchanged"))))
	}
}
