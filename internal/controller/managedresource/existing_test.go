// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// An object that a user has installed by hand before is not in the cache,
// which knows only ours. What others own of it stays.
func TestObjectsInstalledByHandKeepWhatIsOthers(t *testing.T) {
	contract.Shows(t, "R11")
	e := newEnv(t)
	preserved := e.deployment("preserved", map[string]string{
		resourcesv1alpha1.PreserveReplicas: "true", resourcesv1alpha1.PreserveResources: "true"})
	scaled := e.deployment("scaled", nil)
	of := e.deployment("set", nil).Spec
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "set"},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](0), Selector: of.Selector, Template: of.Template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim("1Gi")}},
	}
	e.Expect(e.shoot.Create(e.ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "scaled"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 9,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "scaled"}},
	})).To(Succeed())
	container := &preserved.Spec.Template.Spec.Containers[0]
	stated := container.DeepCopy()
	container.Env = append(container.Env, corev1.EnvVar{Name: "THEIRS", Value: "1"})
	container.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("20m")}
	preserved.Spec.Replicas, scaled.Spec.Replicas = ptr.To[int32](3), ptr.To[int32](2)
	all := []client.Object{preserved, scaled, set}
	for _, each := range all {
		e.Expect(e.shoot.Create(e.ctx, each.DeepCopyObject().(client.Object), client.FieldOwner("by-hand"))).To(Succeed())
	}

	stated.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	preserved.Spec.Template.Spec.Containers[0] = *stated
	preserved.Spec.Replicas, scaled.Spec.Replicas = ptr.To[int32](1), ptr.To[int32](1)
	set.Spec.VolumeClaimTemplates[0] = claim("2Gi")
	e.state("network", all...)
	e.operator()
	e.becomesGood("network")
	now := live(e, preserved)
	e.Expect(now.Labels).To(HaveKeyWithValue(resourcesv1alpha1.ManagedBy, "gardener"))
	e.Expect(now.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	e.Expect(now.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("20m"))
	e.Expect(now.Spec.Template.Spec.Containers[0].Env).To(Equal(stated.Env))
	e.Expect(live(e, scaled).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
	e.Expect(live(e, set).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()).To(Equal("1Gi"))
	e.Expect(now.Generation).To(BeEquivalentTo(2), "it was updated once, and never to what is not right")
}

// An object that lost our label while no operator ran is not in the cache either. It is not
// reported as missing.
func TestObjectsThatLostOurLabelKeepWhatIsOthers(t *testing.T) {
	contract.Shows(t, "R11", "R22")
	e := newEnv(t)
	d := e.deployment("d", map[string]string{resourcesv1alpha1.PreserveReplicas: "true"})
	d.Spec.Replicas = ptr.To[int32](1)
	e.state("network", d)
	stop := e.operator()
	e.becomesGood("network")
	stop()
	change(e, d, func(d *appsv1.Deployment) {
		delete(d.Labels, resourcesv1alpha1.ManagedBy)
		d.Spec.Replicas = ptr.To[int32](3)
	})
	e.operator()
	e.Eventually(func() map[string]string { return live(e, d).Labels }).Should(HaveKey(resourcesv1alpha1.ManagedBy))
	e.becomesGood("network")
	e.Expect(live(e, d).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	e.Expect(e.audit.bodies()).NotTo(ContainElement(ContainSubstring("Missing")))
}

// An API server that takes no version for what it is to create gets none.
func TestCreationWhereVersionsAreRefused(t *testing.T) {
	e := newEnv(t)
	e.refuse(func(cluster string, request *http.Request) error {
		if cluster != "shoot" || request.Method != http.MethodPatch {
			return nil
		}
		body, err := request.GetBody()
		if err != nil {
			return err
		}
		if raw, _ := io.ReadAll(body); strings.Contains(string(raw), `"resourceVersion":"`+noVersion+`"`) {
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "one", io.EOF)
		}
		return nil
	})
	one := e.configMap("one", "key", "value")
	e.state("network", one)
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, one).Data).To(Equal(one.Data))
}
