// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// The operator reverts each edit of an object at once, without waiting for the sync period.
func TestDriftOfADaemonSet(t *testing.T) {
	contract.Shows(t, "R16")
	e := newEnv(t)
	agent := e.daemonSet("agent")
	e.state("network", agent)
	e.operator()
	e.becomesGood("network")
	stated := live(e, agent)

	for _, c := range []struct {
		name string
		edit func(*appsv1.DaemonSet)
	}{
		{"a stated field is edited", func(ds *appsv1.DaemonSet) { pod(ds).Containers[0].Image = "registry.example/other:1" }},
		{"a stated variable is edited", func(ds *appsv1.DaemonSet) { pod(ds).Containers[0].Env[0].Value = "2" }},
		{"a variable is added", func(ds *appsv1.DaemonSet) {
			pod(ds).Containers[0].Env = append(pod(ds).Containers[0].Env, corev1.EnvVar{Name: "FOO", Value: "bar"})
		}},
		{"a container is added", func(ds *appsv1.DaemonSet) {
			pod(ds).Containers = append(pod(ds).Containers, corev1.Container{Name: "more", Image: "registry.example/more:1"})
		}},
		{"arguments are added", func(ds *appsv1.DaemonSet) { pod(ds).Containers[0].Args = []string{"--other"} }},
		{"a default is edited", func(ds *appsv1.DaemonSet) {
			ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(2))
		}},
		{"an unset field is set", func(ds *appsv1.DaemonSet) { pod(ds).PriorityClassName = "system-node-critical" }},
		{"a label on the pods is added", func(ds *appsv1.DaemonSet) { ds.Spec.Template.Labels["theirs"] = "yes" }},
		{"our label is edited", func(ds *appsv1.DaemonSet) { ds.Labels["ours"] = "no" }},
		{"our mark is removed", func(ds *appsv1.DaemonSet) { delete(ds.Labels, resourcesv1alpha1.ManagedBy) }},
		{"the origin is removed", func(ds *appsv1.DaemonSet) { delete(ds.Annotations, resourcesv1alpha1.Origin) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := live(e, agent)
			change(e, agent, c.edit)
			e.Expect(live(e, agent).ResourceVersion).NotTo(Equal(before.ResourceVersion))
			e.Eventually(func() bool {
				now := live(e, agent)
				return equalButStatus(stated, now)
			}).Should(BeTrue(), "it is as stated again")
		})
	}
	e.becomesGood("network")
}

func pod(ds *appsv1.DaemonSet) *corev1.PodSpec { return &ds.Spec.Template.Spec }

func equalButStatus(a, b *appsv1.DaemonSet) bool {
	same := func(x, y any) bool { ok, _ := Equal(x).Match(y); return ok }
	annotations := func(ds *appsv1.DaemonSet) string { return ds.Annotations[resourcesv1alpha1.Origin] }
	return same(a.Spec, b.Spec) && same(a.Labels, b.Labels) && annotations(a) == annotations(b)
}

// The role of a binding cannot be updated. The operator replaces a binding that another
// client has created in place of the stated one.
func TestABindingToAnotherRoleIsReplaced(t *testing.T) {
	contract.Shows(t, "R16")
	e := newEnv(t)
	binding := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "binding"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "ours"},
	}
	e.state("network", binding)
	e.operator()
	e.becomesGood("network")

	theirs := live(e, binding)
	e.Expect(e.shoot.Delete(e.ctx, theirs.DeepCopy())).To(Succeed())
	theirs.ObjectMeta = metav1.ObjectMeta{Namespace: e.namespace, Name: "binding", Labels: theirs.Labels, Annotations: theirs.Annotations}
	theirs.RoleRef.Name = "theirs"
	e.Expect(client.IgnoreAlreadyExists(e.shoot.Create(e.ctx, theirs))).To(Succeed())
	e.Eventually(func() string {
		now := &rbacv1.RoleBinding{}
		if e.shoot.Get(e.ctx, client.ObjectKeyFromObject(binding), now) != nil {
			return "gone"
		}
		return now.RoleRef.Name
	}).Should(Equal("ours"))
	e.becomesGood("network")
}

// The operator also reverts changes of kinds that have no generation.
func TestDriftOfOtherKinds(t *testing.T) {
	contract.Shows(t, "R16")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "role"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}
	e.state("network", cm, role)
	e.operator()
	e.becomesGood("network")

	change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["more"] = "x" })
	e.Eventually(func() map[string]string { return live(e, cm).Data }).Should(Equal(cm.Data))
	change(e, role, func(r *rbacv1.Role) {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	})
	e.Eventually(func() []rbacv1.PolicyRule { return live(e, role).Rules }).Should(Equal(role.Rules))
}

// The operator recreates a deleted object at once. The status reports it while that fails.
func TestDeletedObjectsComeBack(t *testing.T) {
	contract.Shows(t, "R16", "R22")
	e := newEnv(t)
	cm := e.configMap("one")
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	uid := live(e, cm).UID
	e.refuse(func(cluster string, request *http.Request) error {
		if cluster == "shoot" && request.Method == http.MethodPatch {
			return errors.New("not now")
		}
		return nil
	})
	e.Expect(e.shoot.Delete(e.ctx, cm.DeepCopy())).To(Succeed())
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))
	e.refuse(nil)
	e.Eventually(func() bool { return e.exists(cm)() && live(e, cm).UID != uid }).Should(BeTrue())
	e.becomesGood("network")
	e.Expect(e.audit.bodies()).To(ContainElement(And(
		ContainSubstring(`"reason":"ConfigMapMissing"`),
		ContainSubstring(`"message":"ConfigMap `+e.namespace+`/one is missing in the shoot."`))))
}

// Updates of an object keep what users may add to it, and remove what the Secrets no longer
// state.
func TestToleratedFields(t *testing.T) {
	contract.Shows(t, "R10", "R12")
	e := newEnv(t)
	agent := e.daemonSet("agent")
	e.state("network", agent)
	e.operator()
	e.becomesGood("network")
	change(e, agent, func(ds *appsv1.DaemonSet) {
		ds.Labels["theirs"], ds.Annotations["theirs"] = "yes", "yes"
		ds.Spec.Template.Annotations = map[string]string{restartedAt: "today", "other": "removed"}
	})
	e.Eventually(func() map[string]string { return live(e, agent).Spec.Template.Annotations }).Should(
		Equal(map[string]string{restartedAt: "today"}))

	changed := agent.DeepCopy()
	delete(changed.Labels, "ours")
	pod(changed).Containers[0].Image = "registry.example/agent:2"
	e.state("network", changed)
	e.Eventually(func() string { return pod(live(e, agent)).Containers[0].Image }).Should(HaveSuffix(":2"))
	now := live(e, agent)
	e.Expect(now.Labels).To(And(HaveKeyWithValue("theirs", "yes"), Not(HaveKey("ours"))))
	e.Expect(now.Annotations).To(HaveKeyWithValue("theirs", "yes"))
	e.Expect(now.Spec.Template.Annotations).To(HaveKeyWithValue(restartedAt, "today"))
}

func (e *env) deployment(name string, annotations map[string]string) *appsv1.Deployment {
	ds := e.daemonSet(name)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name, Annotations: annotations},
		Spec:       appsv1.DeploymentSpec{Selector: ds.Spec.Selector, Template: ds.Spec.Template},
	}
}

// The operator keeps replicas that the Secrets do not state, or with preserve-replicas, and
// reverts changes of stated ones. The same holds for CPU and memory.
func TestPreservedFields(t *testing.T) {
	contract.Shows(t, "R11")
	e := newEnv(t)
	unstated := e.deployment("unstated", nil)
	preserved := e.deployment("preserved", map[string]string{
		resourcesv1alpha1.PreserveReplicas: "true", resourcesv1alpha1.PreserveResources: "true"})
	stated := e.deployment("stated", nil)
	preserved.Spec.Replicas, stated.Spec.Replicas = ptr.To[int32](1), ptr.To[int32](1)
	requests := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
	}
	preserved.Spec.Template.Spec.Containers[0].Resources = requests("10m")
	stated.Spec.Template.Spec.Containers[0].Resources = requests("10m")
	all := []*appsv1.Deployment{unstated, preserved, stated}
	write := func(image string) {
		var objects []client.Object
		for _, each := range all {
			each.Spec.Template.Spec.Containers[0].Image = image
			objects = append(objects, each)
		}
		e.state("network", objects...)
	}
	write("registry.example/agent:1")
	e.operator()
	e.becomesGood("network")
	for _, each := range all {
		change(e, each, func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](3)
			d.Spec.Template.Spec.Containers[0].Resources = requests("20m")
		})
	}
	write("registry.example/agent:2")
	e.becomesGood("network")
	state := func(d *appsv1.Deployment) string {
		now := live(e, d)
		container := now.Spec.Template.Spec.Containers[0]
		return strings.Join([]string{container.Image, resource.NewQuantity(int64(*now.Spec.Replicas), "").String(),
			container.Resources.Requests.Cpu().String()}, " ")
	}
	e.Expect(state(unstated)).To(Equal("registry.example/agent:2 3 0"))
	e.Expect(state(preserved)).To(Equal("registry.example/agent:2 3 20m"))
	e.Expect(state(stated)).To(Equal("registry.example/agent:2 1 10m"))
}

// The operator takes over objects that another client has created, and removes what the
// Secrets do not state.
func TestTakingOverFromOthers(t *testing.T) {
	e := newEnv(t)
	agent := e.daemonSet("agent")
	theirs := agent.DeepCopy()
	pod(theirs).Containers[0].Env = append(pod(theirs).Containers[0].Env, corev1.EnvVar{Name: "THEIRS", Value: "1"})
	theirs.Labels["theirs"] = "yes"
	e.Expect(e.shoot.Create(e.ctx, theirs, client.FieldOwner("gardener-resource-manager"))).To(Succeed())
	e.state("network", agent)
	e.operator()
	e.becomesGood("network")
	now := live(e, agent)
	e.Expect(pod(now).Containers[0].Env).To(Equal(pod(agent).Containers[0].Env))
	e.Expect(now.Labels).To(HaveKey("theirs"))
}
