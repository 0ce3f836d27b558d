// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The cache lacks an object that a user has created by hand, since it has no label of the
// operator. The operator keeps what other clients may set on it.
func TestObjectsInstalledByHandKeepWhatIsOthers(t *testing.T) {
	contract.Shows(t, "R11")
	e := newEnv(t)
	preserved := e.deployment("preserved", map[string]string{
		resourcesv1alpha1.PreserveReplicas: "true", resourcesv1alpha1.PreserveResources: "true"})
	container := &preserved.Spec.Template.Spec.Containers[0]
	stated := container.DeepCopy()
	container.Env = append(container.Env, corev1.EnvVar{Name: "THEIRS", Value: "1"})
	container.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("20m")}
	preserved.Spec.Replicas = ptr.To[int32](3)
	e.Expect(e.shoot.Create(e.ctx, preserved.DeepCopy(), client.FieldOwner("by-hand"))).To(Succeed())

	stated.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	preserved.Spec.Template.Spec.Containers[0] = *stated
	preserved.Spec.Replicas = ptr.To[int32](1)
	e.state("network", preserved)
	e.operator()
	e.becomesGood("network")
	now := live(e, preserved)
	e.Expect(now.Labels).To(HaveKeyWithValue(resourcesv1alpha1.ManagedBy, "gardener"))
	e.Expect(now.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	e.Expect(now.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("20m"))
	e.Expect(now.Spec.Template.Spec.Containers[0].Env).To(Equal(stated.Env))
	e.Expect(now.Generation).To(BeEquivalentTo(2), "it was updated once, and never to what is not right")
}

// The cache also lacks an object that lost the label while no operator ran. The status does
// not report it as missing.
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

// If an API server refuses a resourceVersion of a new object, the operator omits it.
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
