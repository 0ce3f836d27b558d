// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// Which kinds are the same.
func TestEquivalentKinds(t *testing.T) {
	contract.Shows(t, "R28")
	for _, c := range []struct {
		a, b schema.GroupKind
		same bool
	}{
		{schema.GroupKind{Group: "extensions", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "Deployment"}, true},
		{schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "extensions", Kind: "DaemonSet"}, true},
		{schema.GroupKind{Group: "extensions", Kind: "NetworkPolicy"}, schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, true},
		{schema.GroupKind{Group: "extensions", Kind: "Ingress"}, schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, true},
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, false},
		{schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Group: "extensions", Kind: "Job"}, false},
	} {
		t.Run(c.a.String()+" and "+c.b.String(), func(t *testing.T) {
			NewWithT(t).Expect(canonical(c.a) == canonical(c.b)).To(Equal(c.same))
		})
	}
}

// A Deployment that is known from the group which it was once in is the same
// object; what was ours of it still is.
func TestADeploymentThatChangesItsGroupIsNotDeleted(t *testing.T) {
	contract.Shows(t, "R28")
	e := newEnv(t)
	d := e.deployment("d", nil)
	d.Labels = map[string]string{"formerly": "ours"}
	e.Expect(e.shoot.Create(e.ctx, d.DeepCopy(), client.FieldOwner("gardener-resource-manager"))).To(Succeed())
	uid := live(e, d).UID
	d.Labels = nil
	mr := e.state("network", d)
	patch := client.MergeFrom(mr.DeepCopy())
	mr.Status.Resources = []resourcesv1alpha1.ObjectReference{{
		ObjectReference: corev1.ObjectReference{APIVersion: "extensions/v1beta1", Kind: "Deployment", Namespace: e.namespace, Name: "d"},
		Labels:          map[string]string{"formerly": "ours"},
	}}
	e.Expect(e.seed.Status().Patch(e.ctx, mr, patch)).To(Succeed())
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, d).UID).To(Equal(uid))
	e.Expect(live(e, d).Labels).NotTo(HaveKey("formerly"))
	e.Expect(e.get("network").Status.Resources).To(HaveLen(1))
	e.Expect(e.get("network").Status.Resources[0].APIVersion).To(Equal("apps/v1"))
	e.Expect(e.audit.sent("shoot DELETE")).To(BeEmpty())
}

// An autoscaler owns the replicas of its target, by whichever name it calls the
// target's group, and no other.
func TestAutoscaledReplicas(t *testing.T) {
	contract.Shows(t, "R11")
	e := newEnv(t)
	scale := func(name, apiVersion string) {
		e.Expect(e.shoot.Create(e.ctx, &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 9,
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: "Deployment", Name: name}},
		})).To(Succeed())
	}
	scale("scaled", "apps/v1")
	scale("scaled-formerly", "extensions/v1beta1")
	scale("another", "example.com/v1")
	var objects []client.Object
	state := func(image string) {
		objects = nil
		for _, name := range []string{"scaled", "scaled-formerly", "another"} {
			d := e.deployment(name, nil)
			d.Spec.Replicas = ptr.To[int32](1)
			d.Spec.Template.Spec.Containers[0].Image = image
			objects = append(objects, d)
		}
		e.state("network", objects...)
	}
	state("registry.example/agent:1")
	e.operator()
	e.becomesGood("network")
	for i, each := range objects {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(each.GetObjectKind().GroupVersionKind())
		object.SetNamespace(e.namespace)
		object.SetName(each.GetName())
		e.Expect(e.shoot.Patch(e.ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`)),
			client.FieldOwner("autoscaler"))).To(Succeed(), "%d", i)
	}
	state("registry.example/agent:2")
	e.becomesGood("network")
	replicas := func(name string) int32 { return *live(e, e.deployment(name, nil)).Spec.Replicas }
	e.Expect(replicas("scaled")).To(BeEquivalentTo(2))
	e.Expect(replicas("scaled-formerly")).To(BeEquivalentTo(2))
	e.Expect(replicas("another")).To(BeEquivalentTo(1))
}
