// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// trellisManager starts Trellis' own resource manager.
func (p *controlPlane) trellisManager() *process {
	return p.run(nil, func(mgr ctrl.Manager) error {
		shoots := shootclient.New(shootclient.Options{Metadata: mgr.GetClient(), Secrets: mgr.GetAPIReader()})
		return errors.Join(mgr.Add(shoots), managedresource.Add(mgr, managedresource.Options{
			Shoots: shoots, DeletionInterval: 100 * time.Millisecond, Clock: clock.RealClock{},
		}))
	})
}

// handOver ends the one resource manager, lets happen what meanwhile does, and has
// the other take over. It returns when that has seen to all objects.
func (p *controlPlane) handOver(to string, meanwhile ...func()) {
	p.t.Helper()
	p.manager.stop()
	for _, each := range meanwhile {
		each()
	}
	if to == "Trellis" {
		p.observer.trust()
		p.manager = p.trellisManager()
	} else {
		p.manager = p.resourceManager()
	}
	p.Eventually(func(g Gomega) {
		for _, mr := range p.managedForShoot() {
			g.Expect(mr.Status.ObservedGeneration).To(Equal(mr.Generation))
			g.Expect(mr.Status.Conditions).To(ContainElement(And(
				HaveField("Type", "ResourcesApplied"), HaveField("Status", corev1beta1.ConditionTrue))), "%v", mr.Status.Conditions)
		}
		for key, object := range p.objects(g) {
			g.Expect(object.GetAnnotations()[resourcesv1alpha1.Description]).To(ContainSubstring(to), key)
		}
	}).Should(Succeed())
}

func (p *controlPlane) managedForShoot() []resourcesv1alpha1.ManagedResource {
	list := &resourcesv1alpha1.ManagedResourceList{}
	p.Expect(p.seed.client.List(p.t.Context(), list, client.InNamespace(p.namespace))).To(Succeed())
	var found []resourcesv1alpha1.ManagedResource
	for _, mr := range list.Items {
		if mr.Spec.Class == nil {
			found = append(found, mr)
		}
	}
	return found
}

// objects are all that the inventories list, as the shoot has them.
func (p *controlPlane) objects(g Gomega) map[string]*unstructured.Unstructured {
	all := map[string]*unstructured.Unstructured{}
	for _, mr := range p.managedForShoot() {
		for _, reference := range mr.Status.Resources {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind))
			key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
			g.Expect(p.shoot.client.Get(p.t.Context(), key, object)).To(Succeed(), "%s %s", reference.Kind, key)
			all[reference.Kind+" "+key.String()] = object
		}
	}
	return all
}

// substance is what of the objects must be the same under whichever resource
// manager: all but its own words and the books of the API server. The generation
// and the UID are part of it: nothing is rolled out, and nothing is created again.
func (p *controlPlane) substance() map[string]map[string]any {
	all := map[string]map[string]any{}
	for key, object := range p.objects(p) {
		if object.GetKind() == "Deployment" {
			// A Deployment's follows its annotations, too. Its revision is among these.
			object.SetGeneration(0)
		}
		for _, path := range [][]string{
			{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"},
			{"metadata", "annotations", resourcesv1alpha1.Description},
		} {
			unstructured.RemoveNestedField(object.Object, path...)
		}
		all[key] = object.Object
	}
	return all
}

// isAs means that the objects are as before.
func (p *controlPlane) isAs(before map[string]map[string]any) {
	p.t.Helper()
	then, now := map[string]string{}, map[string]string{}
	flatten("", asAny(before), then)
	flatten("", asAny(p.substance()), now)
	for path, value := range now {
		if was, there := then[path]; !there || was != value {
			p.t.Errorf("%s was %s and is %s", path, was, value)
		}
	}
	for path, value := range then {
		if _, there := now[path]; !there {
			p.t.Errorf("%s was %s and is gone", path, value)
		}
	}
}

func asAny(objects map[string]map[string]any) map[string]any {
	all := map[string]any{}
	for key, object := range objects {
		all[key] = object
	}
	return all
}

// flatten adds the leaves of a value by their paths.
func flatten(path string, value any, leaves map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, each := range value {
			flatten(path+"."+key, each, leaves)
		}
	case []any:
		for i, each := range value {
			flatten(fmt.Sprintf("%s[%d]", path, i), each, leaves)
		}
	default:
		leaves[path] = fmt.Sprintf("%v", value)
	}
}

// ownsNothing means that no field of the objects is a manager's, but for such as
// any manager may own: the maps of labels and annotations themselves, and what
// Kubernetes' own controllers note.
func (p *controlPlane) ownsNothing(manager string) {
	p.t.Helper()
	for key, object := range p.objects(p) {
		for _, entry := range object.GetManagedFields() {
			if entry.Manager != manager || entry.Subresource != "" {
				continue
			}
			fields := &fieldpath.Set{}
			p.Expect(fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes()))).To(Succeed())
			fields.Leaves().Iterate(func(path fieldpath.Path) {
				p.Expect([]string{".metadata.labels", ".metadata.annotations", ".metadata.annotations.deprecated.daemonset.template.generation"}).
					To(ContainElement(path.String()), key)
			})
		}
	}
}

// What Gardener's resource manager has applied, Trellis' takes over, and
// the other way round, again and again. Nothing changes with that alone: nothing is
// rolled out or created again. What is not wanted any more goes, also if another manager has applied it,
// and what others have added stays.
func TestResourceManagersTakeTurns(t *testing.T) {
	Shows(t, "R10", "R33")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.hasExtra("more")
	p.ready()
	mode := inShoot(p, configMap(p.namespace, "mode", ""))
	theirs := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"theirs":"yes"},"annotations":{"theirs":"yes"}}}`))
	p.Expect(shoot.client.Patch(t.Context(), mode, theirs, client.FieldOwner("kubectl-label"))).To(Succeed())

	for _, to := range []string{"Trellis", "Gardener", "Trellis"} {
		before := p.substance()
		p.handOver(to)
		p.isAs(before)
		if to == "Trellis" {
			p.ownsNothing(resourceManagerName)
		}
		// It changes what the other has applied.
		p.hasExtra("")
		p.ready()
		p.lacksExtra()
		p.hasExtra("more")
		p.ready()
		p.Expect(inShoot(p, configMap(p.namespace, "extra", "")).Data).To(HaveKeyWithValue("content", "more"))
	}
	// The change comes while neither of them is there.
	for _, to := range []string{"Gardener", "Trellis"} {
		p.handOver(to, func() { p.hasExtra("") })
		p.ready()
		p.lacksExtra()
		p.hasExtra("more")
		p.ready()
	}
	mode = inShoot(p, configMap(p.namespace, "mode", ""))
	p.Expect(mode.Labels).To(And(HaveKeyWithValue("theirs", "yes"), HaveKeyWithValue("extra", "more")))
	p.Expect(mode.Annotations).To(And(HaveKeyWithValue("theirs", "yes"), HaveKeyWithValue("extra", "more")))
	isDeleted(p)
	p.Expect(p.isGone(shoot.client, configMap(p.namespace, "mode", ""))).To(BeTrue())
}

// hasExtra has a network deployed with the extra object, or without.
func (p *controlPlane) hasExtra(extra string) {
	p.t.Helper()
	p.wants("mode", "first")
	if extra != "" {
		p.wants("mode", "first", "extra", extra)
	}
	p.deploys()
}

// lacksExtra checks that nothing is left of the extra object: no object, no label or annotation,
// and no variable.
func (p *controlPlane) lacksExtra() {
	p.t.Helper()
	p.Expect(p.isGone(p.shoot.client, configMap(p.namespace, "extra", ""))).To(BeTrue())
	mode := inShoot(p, configMap(p.namespace, "mode", ""))
	p.Expect(mode.Labels).NotTo(HaveKey("extra"))
	p.Expect(mode.Annotations).NotTo(HaveKey("extra"))
	agent := inShoot(p, daemonSet(p.namespace, &exampleConfig{}))
	p.Expect(agent.Spec.Template.Spec.Containers[0].Env).To(ConsistOf(corev1.EnvVar{Name: "MODE", Value: "first"}))
}

// Gardener's resource manager takes a kind which the shoot does not have yet for one
// in namespaces, so that an inventory of its may give a namespace to an object that
// has none. It is the same object nevertheless, and must not be deleted for that.
func TestInventoriesMayBeWrongAboutNamespaces(t *testing.T) {
	Shows(t, "R33")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.deploys()
	p.ready()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: p.namespace + "-agent"}}
	before := inShoot(p, role).UID
	p.handOver("Trellis", func() {
		mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "example-config"}}
		p.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(mr), mr)).To(Succeed())
		before := mr.DeepCopy()
		for i := range mr.Status.Resources {
			if mr.Status.Resources[i].Kind == "ClusterRole" {
				mr.Status.Resources[i].Namespace = "default"
			}
		}
		p.Expect(in.client.Status().Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
	})
	p.Expect(inShoot(p, role).UID).To(Equal(before))
	isDeleted(p)
}
