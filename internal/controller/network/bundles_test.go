// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/test/contract"
)

const (
	mainName      = "example-config"
	laterName     = "example-config-later"
	seedName      = "example-config-seed"
	admissionName = "example-admission"
	holder        = "resources.gardener.cloud/gardener-resource-manager"
)

// names are those of the ManagedResources that there are.
func (e *env) names() []string {
	list := &resourcesv1alpha1.ManagedResourceList{}
	e.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// secrets are the names of all Secrets in the namespace.
func (e *env) secrets() []string {
	list := &corev1.SecretList{}
	e.Expect(e.client.List(e.t.Context(), list, client.InNamespace(e.namespace))).To(Succeed())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// What comes later, what is for the seed, and what changes or refuses others' objects
// travel in ManagedResources of their own, of the class that says where their objects
// go. No operation waits for them.
func TestEachGroupOfObjectsHasItsManagedResource(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked, withConfig(`{"extras":"three","monitoring":"left","admission":"big"}`))
		e.Expect(e.names()).To(ConsistOf(mainName, laterName, seedName, admissionName))
		later, inSeed, admission := e.managedResourceOf(laterName), e.managedResourceOf(seedName), e.managedResourceOf(admissionName)
		e.Expect(later.Spec.Class).To(BeNil())
		e.Expect(later.Spec.InjectLabels).To(HaveKey("shoot.gardener.cloud/no-cleanup"))
		e.Expect(*inSeed.Spec.Class).To(Equal("seed"))
		e.Expect(inSeed.Spec.InjectLabels).To(BeEmpty())
		e.Expect(inSeed.Labels).To(HaveKeyWithValue("origin", "example"))
		for mr, content := range map[*resourcesv1alpha1.ManagedResource]string{later: "three", inSeed: "left", admission: "big"} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: mr.Spec.SecretRefs[0].Name, Namespace: e.namespace}}
			e.get(secret)
			e.Expect(secret.Name).To(HavePrefix("managedresource-" + mr.Name + "-"))
			e.Expect(string(secret.Data["objects.json"])).To(ContainSubstring(`"content":"` + content + `"`))
		}
		kept, err := state.Decode(n.Status.State)
		e.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, written := range kept.Bundles {
			names = append(names, written.Name)
			e.Expect(written.Secret).To(Equal(e.managedResourceOf(written.Name).Spec.SecretRefs[0].Name))
			e.Expect(e.managedResourceOf(written.Name).Labels).To(HaveKeyWithValue(extensionsv1alpha1.NetworkLabel, n.Name))
		}
		e.Expect(names).To(Equal([]string{seedName, mainName, laterName, admissionName}))
		e.Expect(admission.Spec.Class).To(BeNil())
	})
}

// A group that is not wanted any more goes with all that is in it; a changed one
// leaves its old Secret to the garbage collector.
func TestGroupsChangeAndGo(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"extras":"three","monitoring":"left"}`))
	before := e.managedResourceOf(seedName).Spec.SecretRefs[0].Name
	e.patch(n, withConfig(`{"extras":"three","monitoring":"right"}`))
	e.Eventually(func() string { return e.managedResourceOf(seedName).Spec.SecretRefs[0].Name }).ShouldNot(Equal(before))
	e.becomes(n, again, fine)
	old := &corev1.Secret{}
	e.Expect(e.client.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: before}, old)).To(Succeed())
	e.Expect(old.Labels).To(HaveKeyWithValue(resourcesv1alpha1.GarbageCollectable, "true"))

	e.patch(n, withConfig(`{}`))
	e.Eventually(e.names).Should(ConsistOf(mainName))
	e.becomes(n, again, fine)
	e.Eventually(e.secrets).Should(HaveLen(1))
}

// What a user deletes of them comes back.
func TestDeletedGroupsComeBack(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"extras":"three","monitoring":"left"}`))
	for _, name := range []string{laterName, seedName} {
		gone := e.managedResourceOf(name)
		e.Expect(e.client.Delete(t.Context(), gone)).To(Succeed())
		e.Eventually(func() bool { return e.managedResourceOf(name).UID != gone.UID }).Should(BeTrue())
		e.becomes(n, again, fine)
	}
}

// One that the spec does not ask for goes, also if it was overlooked when the others were written.
func TestAGroupTooManyGoes(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked, withConfig(`{"monitoring":"left"}`))
		e.Expect(e.client.Create(t.Context(), &resourcesv1alpha1.ManagedResource{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: e.namespace, Name: laterName, Labels: map[string]string{extensionsv1alpha1.NetworkLabel: n.Name},
			},
			Spec: resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "none"}}},
		})).To(Succeed())
		e.Eventually(e.names).Should(ConsistOf(mainName, seedName))
		e.becomes(n, again, fine)
	})
}

// One that hangs in its deletion does not keep the others, or the Network, from
// getting on, nor is it written about again and again.
func TestAGroupThatHangsIsNotWaitedFor(t *testing.T) {
	e := setup(t)
	n := e.finished(withConfig(`{"monitoring":"left"}`))
	hanging := e.managedResourceOf(seedName)
	before := hanging.DeepCopy()
	controllerutil.AddFinalizer(hanging, holder+"-seed")
	e.Expect(e.client.Patch(t.Context(), hanging, client.MergeFrom(before))).To(Succeed())
	e.Expect(e.client.Delete(t.Context(), hanging)).To(Succeed())
	e.patch(n, withConfig(`{"backend":"none","monitoring":"left"}`))
	mr := e.managedResource()
	e.Eventually(func() int64 { e.get(mr); return mr.Generation }).Should(BeEquivalentTo(2))
	e.applied()
	e.becomes(n, again, fine)
	e.stays(n)
	e.requests.Forget()
	e.applied() // the resource manager looks again
	e.stays(n)
	e.Expect(e.requests.All()).To(BeEmpty())
	e.letGo(hanging)
	e.Eventually(func() bool { return e.managedResourceOf(seedName).UID != hanging.UID }).Should(BeTrue())
}

// What is for the shoot goes first, and in it what may need the rest; the
// seed's goes last.
func TestGroupsAreDeletedOneAfterTheOther(t *testing.T) {
	contract.Shows(t, "N31")
	e := setup(t)
	n := e.finished(withConfig(`{"extras":"three","monitoring":"left","admission":"big"}`))
	order := []string{admissionName, laterName, mainName, seedName}
	held := map[string]*resourcesv1alpha1.ManagedResource{}
	for _, name := range order {
		mr := e.managedResourceOf(name)
		before := mr.DeepCopy()
		controllerutil.AddFinalizer(mr, holder)
		e.Expect(e.client.Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
		held[name] = mr
	}
	e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
	for i, name := range order {
		e.Eventually(func() bool { e.get(held[name]); return held[name].DeletionTimestamp.IsZero() }).Should(BeFalse())
		e.stays(n)
		for _, next := range order[i+1:] {
			e.get(held[next])
			e.Expect(held[next].DeletionTimestamp).To(BeNil())
		}
		e.letGo(held[name])
	}
	e.gone(n)
	e.Eventually(e.secrets).Should(BeEmpty())
}

func TestAFreshNetworkWithASeedBundleCostsFewRequests(t *testing.T) {
	e := setup(t)
	e.finished(withConfig(`{"monitoring":"left"}`))
	requests := e.requests.All()
	t.Logf("%d requests:\n%s", len(requests), strings.Join(requests, "\n"))
	e.Expect(len(requests)).To(BeNumerically("<=", 8))
	e.Expect(slices.ContainsFunc(requests, func(line string) bool { return strings.HasSuffix(line, "409") })).To(BeFalse(), "no conflict")
}
