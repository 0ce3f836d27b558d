// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

const (
	create    = corev1beta1.LastOperationTypeCreate
	again     = corev1beta1.LastOperationTypeReconcile
	deleting  = corev1beta1.LastOperationTypeDelete
	working   = corev1beta1.LastOperationStateProcessing
	fine      = corev1beta1.LastOperationStateSucceeded
	erroneous = corev1beta1.LastOperationStateError
)

// modes runs a test once as in a landscape of Gardener's and once standalone.
func modes(t *testing.T, test func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)), change ...func(*network.Options)) {
	t.Run("Gardener", func(t *testing.T) { test(t, setup(t, append(change, inGardener)...), asking("reconcile")) })
	t.Run("standalone", func(t *testing.T) { test(t, setup(t, change...), func(*extensionsv1alpha1.Network) {}) })
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestANetworkIsCreatedAndReconciled(t *testing.T) {
	contract.Shows(t, "N1", "N2", "N4")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.network(asked)
		mr := e.managedResource()
		e.becomes(n, create, working)
		e.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(1))
		e.Expect(n.Status.LastOperation.Description).To(Equal("Reconciling the Network"))
		e.Expect(n.Status.ObservedGeneration).To(BeZero(), "nothing is applied yet")
		e.Expect(n.Finalizers).To(ConsistOf("extensions.gardener.cloud/network"))
		e.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))

		e.applied()
		e.becomes(n, create, fine)
		e.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(100))
		e.Expect(n.Status.LastOperation.Description).To(Equal("Successfully reconciled Network"))
		e.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
		e.Expect(n.Status.LastError).To(BeNil())
		e.Expect(n.Status.IPFamilies).To(ConsistOf(extensionsv1alpha1.IPv4))

		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"none"}`)(n); asked(n) })
		e.Eventually(func() int64 { e.get(mr); return mr.Generation }).Should(BeEquivalentTo(2))
		e.applied()
		e.becomes(n, again, fine)
		e.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
	})
}

// Invariants 2 and 4: the spec is the user's, and the status shows what is in
// force once it is.
func TestTheStatusShowsWhatIsInForce(t *testing.T) {
	e := setup(t)
	n := e.network(withConfig(`{"backend":"none"}`))
	e.managedResource()
	e.becomes(n, create, working)
	e.Expect(n.Status.ProviderStatus).To(BeNil(), "nothing is in force yet")
	e.applied()
	e.becomes(n, create, fine)
	var shown map[string]any
	e.Expect(json.Unmarshal(n.Status.ProviderStatus.Raw, &shown)).To(Succeed())
	e.Expect(shown).To(Equal(map[string]any{
		"apiVersion": "example.trellis.network/v1", "kind": "NetworkStatus",
		"config":   map[string]any{"backend": "none", "clusterCIDR": "10.1.0.0/16", "serviceCIDR": "10.2.0.0/16"},
		"warnings": []any{map[string]any{"field": "spec.providerConfig.backend", "message": "pods cannot talk to each other"}},
	}))
	e.Expect(string(n.Spec.ProviderConfig.Raw)).To(MatchJSON(`{"backend":"none"}`))
}

// What another program or release has left in the providerStatus goes. What the writer of the
// health observes of the network's components stays.
func TestTheStatusShowsNothingOfOthers(t *testing.T) {
	e := setup(t)
	n := e.finished()
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus.Raw = []byte(`{"components":{"agent":true,"former":true},"rollouts":{"agent":{"nodes":2,"updated":1},"former":{"nodes":2,"updated":0}},"connectivityTests":{"pods":true},"config":{"former":1}}`)
	})
	e.patch(n, withConfig(`{"backend":"overlay"}`))
	e.applied()
	e.Eventually(func() string { e.get(n); return string(n.Status.ProviderStatus.Raw) }).Should(MatchJSON(`{
		"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","components":{"agent":true},"rollouts":{"agent":{"nodes":2,"updated":1}},
		"config":{"backend":"overlay","clusterCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}`))
}

// So does what a former release has said of a network that stays as it is.
func TestAnUnchangedNetworkShowsWhatThisVersionSays(t *testing.T) {
	e := setup(t)
	n := e.finished()
	const own = `{"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus","components":{"agent":true,"kube-proxy":true},
		"config":{"backend":"overlay","clusterCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}`
	e.stop()
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus.Raw = []byte(strings.Replace(own, `"config":{`, `"dataPath":"by pigeon","config":{"former":1,`, 1))
	})
	e.requests.Forget()
	e.stop = e.start()
	e.Eventually(func() string { e.get(n); return string(n.Status.ProviderStatus.Raw) }).Should(MatchJSON(own))
	e.stays(n)
	e.Expect(n.Status.LastOperation.State).To(Equal(fine))
	e.Expect(e.requests.Writes()).To(HaveLen(1))
}

// What the writer of the health observes of the connectivity is marked by its condition.
func TestTheStatusKeepsTheConnectivity(t *testing.T) {
	e := setup(t)
	n := e.finished()
	const observed = `"connectivityTests":{"pods":true,"summary":{"nodes":2}},"networkModules":{"arp_proxy":true}`
	harness.ChangeStatus(t, e.client, n, func(n *extensionsv1alpha1.Network) {
		n.Status.ProviderStatus.Raw = []byte(`{` + observed + `}`)
		n.Status.Conditions = append(n.Status.Conditions, corev1beta1.Condition{
			Type: extensionsv1alpha1.PodNetworkAvailable, Status: corev1beta1.ConditionTrue, Reason: "Example",
			LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now(),
		})
	})
	e.patch(n, withConfig(`{"backend":"overlay"}`))
	e.applied()
	e.Eventually(func() string { e.get(n); return string(n.Status.ProviderStatus.Raw) }).Should(MatchJSON(`{
		"apiVersion":"example.trellis.network/v1","kind":"NetworkStatus",` + observed + `,
		"config":{"backend":"overlay","clusterCIDR":"10.1.0.0/16","serviceCIDR":"10.2.0.0/16"}}`))
}

// The bundle is as Gardener's resource manager expects it.
func TestTheBundleIsImmutableAndHashed(t *testing.T) {
	contract.Shows(t, "L1", "L3", "L4")
	e := setup(t)
	e.finished()
	mr := e.managedResource()
	first := mr.Spec.SecretRefs[0].Name
	e.Expect(first).To(MatchRegexp(`^managedresource-example-config-[0-9a-f]{8}$`))
	e.Expect(mr.Labels).To(HaveKeyWithValue("origin", "example"))
	e.Expect(mr.Spec.InjectLabels).To(Equal(map[string]string{"shoot.gardener.cloud/no-cleanup": "true"}))
	e.Expect(mr.Spec.Class).To(BeNil())
	e.Expect(mr.Annotations).To(ContainElement(first))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: first, Namespace: e.namespace}}
	e.get(secret)
	e.Expect(secret.Data).To(And(HaveLen(1), HaveKey("objects.json")))
	e.Expect(*secret.Immutable).To(BeTrue())
	e.Expect(secret.Labels).To(HaveKeyWithValue(resourcesv1alpha1.GarbageCollectable, "true"))
}

// Generation changes trigger, annotations of others do not.
func TestStandaloneSpecsAreTriggers(t *testing.T) {
	contract.Shows(t, "N21")
	e := setup(t)
	n := e.finished()
	e.requests.Forget()
	e.patch(n, func(n *extensionsv1alpha1.Network) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "color", "blue") })
	e.stays(n)
	e.Expect(e.requests.All()).To(BeEmpty())
}

// In a landscape whose operation annotation is ignored, generation changes trigger,
// and annotations do not, whatever they ask for.
func TestInGardenerTheAnnotationCanBeIgnored(t *testing.T) {
	contract.Shows(t, "N21")
	e := setup(t, inGardener, func(o *network.Options) { o.Trigger = network.TriggerGeneration })
	n := e.finished()
	e.requests.Forget()
	e.patch(n, asking("reconcile"))
	e.stays(n)
	e.Expect(e.requests.All()).To(BeEmpty())
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.becomes(n, again, working)
	e.answered(n)
	e.cluster(func(s *corev1beta1.Shoot) {
		s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: ptr.To(false)}
	})
	e.becomes(n, again, erroneous)
}

// Without the annotation, an edited spec waits.
func TestInGardenerOnlyTheAnnotationTriggers(t *testing.T) {
	contract.Shows(t, "N18")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.stays(n)
	e.patch(n, asking("reconcile"))
	e.becomes(n, again, working)
}

// An edit without a request to carry it out is not passed off as carried out when
// an earlier one succeeds.
func TestWaitingDoesNotPickUpEdits(t *testing.T) {
	e := setup(t, inGardener)
	n := e.network(asking("reconcile"))
	mr := e.managedResource()
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.applied()
	e.becomes(n, create, fine)
	e.Expect(n.Generation).To(BeEquivalentTo(2))
	e.Expect(n.Status.ObservedGeneration).To(BeEquivalentTo(1))
	e.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring(`"backend":"overlay"`))
	e.stays(mr)
}

// A restart finishes what was left unfinished, and nothing else.
func TestARestartFinishesWhatWasBegun(t *testing.T) {
	contract.Shows(t, "N19")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.patch(n, withConfig(`{"backend":"none"}`))
	e.restart()
	e.stays(n)

	e.patch(n, asking("reconcile"))
	e.becomes(n, again, working)
	e.stop()
	mr := e.managedResource()
	e.Expect(e.client.Delete(t.Context(), mr)).To(Succeed())
	e.restart()
	e.applied()
	e.becomes(n, again, fine)
	e.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
}

func TestFailedShootsAreLeftAlone(t *testing.T) {
	contract.Shows(t, "N17")
	e := setup(t)
	e.cluster(func(s *corev1beta1.Shoot) {
		s.Status.LastOperation = &corev1beta1.LastOperation{State: corev1beta1.LastOperationStateFailed, Type: create}
	})
	e.stays(e.network())
}

func TestNetworksOfOthersAreLeftAlone(t *testing.T) {
	contract.Shows(t, "N22")
	e := setup(t, inGardener)
	n := e.network(asking("reconcile"), func(n *extensionsv1alpha1.Network) { n.Spec.Type = "rope" })
	e.stays(n)
	garden := e.network(asking("reconcile"), func(n *extensionsv1alpha1.Network) {
		n.Name = "of-the-garden"
		class := extensionsv1alpha1.ExtensionClass("garden")
		n.Spec.Class = &class
	})
	e.stays(garden)
}

// Neither nodes nor health are waited for.
func TestUnhealthyObjectsAreNotWaitedFor(t *testing.T) {
	contract.Shows(t, "N29")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.network(asked)
		mr := e.managedResource()
		before := mr.DeepCopy()
		mr.Status.ObservedGeneration = mr.Generation
		now := metav1.NewTime(time.Now())
		for conditionType, status := range map[string]corev1beta1.ConditionStatus{"ResourcesApplied": "True", "ResourcesHealthy": "False"} {
			mr.Status.Conditions = append(mr.Status.Conditions, corev1beta1.Condition{Type: conditionType, Status: status, LastTransitionTime: now, LastUpdateTime: now})
		}
		e.Expect(e.client.Status().Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
		e.becomes(n, create, fine)
	})
}

// The address at which pods reach their API server comes with the Cluster.
func TestAWrongAPIServerAddressIsNamed(t *testing.T) {
	e := setup(t, func(o *network.Options) { o.Standalone = true })
	e.patchCluster(func(c *extensionsv1alpha1.Cluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, extensionsv1alpha1.APIServerAnnotation, "nowhere")
	})
	n := e.network()
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Description).To(And(
		ContainSubstring("annotation %s of Cluster %s", extensionsv1alpha1.APIServerAnnotation, e.namespace), ContainSubstring("nowhere")))
}

// Unlike a missing Cluster, one that cannot be decoded is not only about to come:
// the user must be told, while the Network is made and while it is deleted.
func TestAnUndecodableClusterIsAnError(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		spoil := func() {
			e.patchCluster(func(c *extensionsv1alpha1.Cluster) {
				c.Spec.Shoot.Raw = []byte(`{"spec":{"provider":{"workers":"many"}}}`)
			})
		}
		complains := func(n *extensionsv1alpha1.Network) {
			e.Expect(n.Status.LastError.Description).To(And(
				ContainSubstring("the Shoot in the Cluster %s cannot be decoded", e.namespace), ContainSubstring("spec.provider.workers")))
			e.Expect(n.Status.LastError.Codes).To(BeEmpty(), "it is not the user's")
			e.stays(n)
		}
		spoil()
		n := e.network(asked)
		e.becomes(n, create, erroneous)
		complains(n)
		e.cluster(func(*corev1beta1.Shoot) {})
		e.managedResource()
		e.applied()
		e.becomes(n, create, fine)
		e.Expect(n.Status.LastError).To(BeNil())

		spoil()
		e.Expect(e.client.Delete(t.Context(), n)).To(Succeed())
		e.becomes(n, deleting, erroneous)
		complains(n)
		e.cluster(func(*corev1beta1.Shoot) {})
		e.gone(n)
	})
}

// In a landscape the status of a Network without a request does not change.
func TestAnUndecodableClusterIsNoErrorWithoutARequest(t *testing.T) {
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	e.patchCluster(func(c *extensionsv1alpha1.Cluster) { c.Spec.Shoot.Raw = []byte(`{"metadata":7}`) })
	e.applied() // the resource manager looks again
	e.stays(n)
	e.Expect(n.Status.LastError).To(BeNil())
}

// The Shoot's controller waits until an edit of the Shoot is taken into account,
// even if it changes nothing.
func TestTheGenerationOfTheShootIsNoted(t *testing.T) {
	e := setup(t)
	e.cluster(func(s *corev1beta1.Shoot) { s.Generation = 3 })
	n := e.finished()
	noted := func() int64 {
		e.get(n)
		kept, err := state.Decode(n.Status.State)
		e.Expect(err).NotTo(HaveOccurred())
		return kept.ShootGeneration
	}
	e.Expect(noted()).To(BeEquivalentTo(3))
	e.requests.Forget()
	e.cluster(func(s *corev1beta1.Shoot) { s.Generation = 4 })
	e.Eventually(noted).Should(BeEquivalentTo(4))
	e.stays(n)
	e.Expect(e.requests.All()).To(HaveLen(1))
	e.Expect(n.Status.LastOperation.Type).To(Equal(create), "nothing was reconciled")

	e.patch(n, withConfig(`{"backend":"unknown"}`))
	e.becomes(n, again, erroneous)
	e.cluster(func(s *corev1beta1.Shoot) { s.Generation = 5 })
	e.Eventually(noted).Should(BeEquivalentTo(5), "an error is about the present Shoot, too")
}
