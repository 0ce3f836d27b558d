// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

// releases is an operator that can be replaced by another release of it.
type releases struct {
	*env
	options *network.Options
}

// paced starts the first release. Its updates are paced, but not paused.
func paced(t *testing.T, change ...func(*network.Options)) *releases {
	t.Helper()
	r := &releases{}
	r.env = setup(t, append(change, func(options *network.Options) {
		r.options, options.Pipeline, options.Rollout = options, release(t, "example", "one"), strategy("one")
	})...)
	return r
}

func strategy(revision string) *wave.Policy {
	return &wave.Policy{
		Revision: revision, MaxConcurrency: intstr.FromInt32(1), MaxFailures: intstr.FromInt32(0),
		MinSuccessTime: time.Minute, ProgressDeadline: time.Hour,
	}
}

// becomesRelease replaces the operator.
func (r *releases) becomesRelease(name string, paused bool) {
	r.stop()
	r.options.Pipeline, r.options.Rollout = release(r.t, "example", name), strategy(name)
	r.options.Rollout.Paused = paused
	r.stop = r.start()
}

// isIn waits until the Network is in a phase of a roll-out.
func (r *releases) isIn(n *extensionsv1alpha1.Network, phase wave.Phase, reason wave.Reason) {
	r.t.Helper()
	r.Eventually(func(g Gomega) {
		r.get(n)
		kept, err := state.Decode(n.Status.State)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept.Rollout).NotTo(BeNil())
		g.Expect([]any{kept.Rollout.Phase, kept.Rollout.Reason}).To(Equal([]any{phase, reason}))
	}).Should(Succeed())
}

// asks requests a reconciliation as gardenlet does.
func (r *releases) asks(n *extensionsv1alpha1.Network, change ...func(*extensionsv1alpha1.Network)) {
	r.t.Helper()
	r.patch(n, func(n *extensionsv1alpha1.Network) {
		for _, each := range change {
			each(n)
		}
		asking(extensionsv1alpha1.OperationReconcile)(n)
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.TimestampAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	})
}

// answered waits until the request is carried out.
func (r *releases) answered(n *extensionsv1alpha1.Network) {
	r.t.Helper()
	r.Eventually(func(g Gomega) {
		r.get(n)
		g.Expect(n.Annotations).NotTo(HaveKey(extensionsv1alpha1.OperationAnnotation))
		g.Expect(n.HasSucceeded()).To(BeTrue())
		g.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
		g.Expect(n.Status.LastError).To(BeNil())
	}).Should(Succeed())
}

func TestAnUpdateWaitsAndTheNetworkSaysWhy(t *testing.T) {
	r := paced(t)
	n := r.finished()
	before := r.managedResource()
	r.becomesRelease("two", true)
	r.isIn(n, wave.Pending, wave.RolloutPaused)
	r.stays(before)
	r.Expect(n.HasSucceeded()).To(BeTrue(), "the network has what it had")
	r.Eventually(r.events).Should(ContainElement(And(HavePrefix("Normal RolloutPaused: "), ContainSubstring("rolloutStrategy.paused"))))

	r.stop()
	r.requests.Forget()
	r.stop = r.start()
	r.stays(n)
	r.Expect(r.requests.Writes()).To(BeEmpty(), "it has told already why it waits")

	r.becomesRelease("two", false)
	r.isIn(n, wave.Progressing, wave.Updating)
	r.Eventually(r.written).Should(Equal("overlay of release two"))
}

// A network of another extension is taken over when that is asked for, even while updates are
// paused; also one that Trellis had before.
func TestATakeOverDoesNotWaitForItsTurn(t *testing.T) {
	r := paced(t)
	r.becomesRelease("two", true)
	r.another("{content: former}")
	n := r.network()
	r.Eventually(r.written).Should(Equal("overlay of release two"))
	r.applied()
	r.answered(n)

	r.becomesRelease("three", true)
	r.isIn(n, wave.Pending, wave.RolloutPaused)
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: r.namespace},
		Data:       map[string][]byte{"objects.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: example, namespace: kube-system}\ndata: {content: theirs}")},
	}
	r.Expect(r.client.Create(t.Context(), theirs)).To(Succeed())
	harness.Change(t, r.client, r.managedResource(), func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: theirs.Name}}
	})
	r.asks(n)
	r.Eventually(r.written).Should(Equal("overlay of release three"))
}

// A release that is taken back before it has reached a Network leaves nothing behind.
func TestAReleaseThatIsTakenBack(t *testing.T) {
	r := paced(t)
	n := r.finished()
	before := r.managedResource()
	r.becomesRelease("two", true)
	r.isIn(n, wave.Pending, wave.RolloutPaused)
	r.becomesRelease("one", true)
	r.isIn(n, wave.Succeeded, "")
	r.stays(before)
}

func TestWhereUpdatesArePacedAnUnchangedNetworkCostsNoRequest(t *testing.T) {
	r := paced(t)
	n := r.finished()
	r.stop()
	r.requests.Forget()
	r.stop = r.start()
	r.stays(n)
	r.Expect(r.requests.Writes()).To(BeEmpty())

	r.stop()
	r.options.Rollout = strategy("two, which renders the same")
	r.stop = r.start()
	r.stays(n)
	r.Expect(r.requests.Writes()).To(BeEmpty())
}

// What users change does not wait, and comes with the new release. What makes no difference is no reason to
// write the new release.
func TestAUsersChangeDoesNotWaitForAnUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*releases, *extensionsv1alpha1.Network)
		content string
	}{
		"the config": {func(r *releases, n *extensionsv1alpha1.Network) { r.patch(n, withConfig(`{"backend":"none"}`)) }, "none of release two"},
		"a second family": {func(r *releases, n *extensionsv1alpha1.Network) {
			r.patch(n, func(n *extensionsv1alpha1.Network) { n.Spec.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4", "IPv6"} })
		}, "overlay of release two"},
		"an annotation of the Shoot": {func(r *releases, _ *extensionsv1alpha1.Network) {
			r.cluster(func(s *corev1beta1.Shoot) {
				metav1.SetMetaDataAnnotation(&s.ObjectMeta, extensionsv1alpha1.MaxUnavailableAnnotation, "7")
			})
		}, "overlay of release two"},
		"the address of the API server": {func(r *releases, _ *extensionsv1alpha1.Network) {
			r.patchCluster(func(c *extensionsv1alpha1.Cluster) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, extensionsv1alpha1.APIServerAnnotation, "api.example.com:443")
			})
		}, "overlay of release two"},
		"the address that the Shoot reports": {func(r *releases, _ *extensionsv1alpha1.Network) {
			r.cluster(func(s *corev1beta1.Shoot) {
				s.Status.AdvertisedAddresses = []corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://api.example.com"}}
			})
		}, "overlay of release two with api.example.com"},
		"what the network needs not know of its Shoot": {func(r *releases, _ *extensionsv1alpha1.Network) {
			r.cluster(func(s *corev1beta1.Shoot) { s.Generation, s.Spec.Kubernetes.Version = 7, "1.36.1" })
		}, "overlay of release one"},
		"a default that becomes explicit": {func(r *releases, n *extensionsv1alpha1.Network) { r.patch(n, withConfig(`{"backend":"overlay"}`)) }, "overlay of release one"},
		"a pause that is annotated": {func(r *releases, n *extensionsv1alpha1.Network) {
			r.patch(n, annotated(extensionsv1alpha1.RolloutAnnotation, extensionsv1alpha1.RolloutPause))
			r.isIn(n, wave.Pending, wave.NetworkPaused)
		}, "overlay of release one"},
		"its turn that is annotated": {func(r *releases, n *extensionsv1alpha1.Network) {
			r.patch(n, annotated(extensionsv1alpha1.RolloutAnnotation, extensionsv1alpha1.RolloutNow))
		}, "overlay of release two"},
		"a ManagedResource that is deleted": {func(r *releases, _ *extensionsv1alpha1.Network) {
			r.Expect(r.client.Delete(r.t.Context(), r.managedResource())).To(Succeed())
		}, "overlay of release two"},
	} {
		t.Run(name, func(t *testing.T) {
			r := paced(t)
			n := r.finished()
			r.becomesRelease("two", true)
			r.isIn(n, wave.Pending, wave.RolloutPaused)
			test.change(r, n)
			if test.content == "overlay of release one" {
				r.Eventually(func() int64 { r.get(n); return n.Status.ObservedGeneration - n.Generation }).Should(BeZero())
				r.stays(r.managedResource())
			}
			r.Eventually(r.written).Should(Equal(test.content))
			r.applied()
			r.Eventually(func() bool { r.get(n); return n.HasSucceeded() && n.Status.ObservedGeneration == n.Generation }).Should(BeTrue())
		})
	}
}

// In a landscape, an update waits for gardenlet's request, which comes in the maintenance window of the
// Shoot or at its next reconciliation. A request that comes too early for the roll-out is answered
// with what the network has.
func TestInALandscapeAnUpdateWaitsForARequest(t *testing.T) {
	contract.Shows(t, "N18")
	r := paced(t, inGardener)
	n := r.finished(asking(extensionsv1alpha1.OperationReconcile))
	r.becomesRelease("two", true)
	r.stays(n)
	r.asks(n)
	r.answered(n)
	r.isIn(n, wave.Pending, wave.RolloutPaused)
	r.Expect(r.written()).To(Equal("overlay of release one"))
	r.becomesRelease("two", false)
	r.isIn(n, wave.Pending, wave.WaitingForRequest)
	r.becomesRelease("two", true)
	r.isIn(n, wave.Pending, wave.RolloutPaused)
	r.asks(n, withConfig(`{"backend":"none"}`))
	r.Eventually(r.written).Should(Equal("none of release two"))
	r.applied()
	r.answered(n)

	r.becomesRelease("three", false)
	r.stays(n)
	r.Expect(r.written()).To(Equal("none of release two"), "although its turn has come")
	r.asks(n)
	r.Eventually(r.written).Should(Equal("none of release three"))
	r.applied()
	r.answered(n)
	r.isIn(n, wave.Progressing, wave.Updating)
}

// What another operator looks after neither halts a roll-out nor is waited for.
func TestNetworksOfAnotherOperatorDoNotCount(t *testing.T) {
	seed := landscape.Seed(t)
	others := seed.Namespace(t, "shoot--others--")
	r := paced(t, func(options *network.Options) {
		options.IsOthers = func(_ context.Context, namespace string) bool { return namespace == others }
	})
	n := r.finished()
	failed := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: others, Name: "example"}, Spec: n.Spec}
	r.Expect(seed.Create(t.Context(), failed)).To(Succeed())
	encoded, err := (&state.State{Rollout: &wave.Record{Revision: "two", Phase: wave.Failed, Since: metav1.Now()}}).Encode()
	r.Expect(err).NotTo(HaveOccurred())
	harness.ChangeStatus(t, r.client, failed, func(n *extensionsv1alpha1.Network) { n.Status.State = encoded })
	r.start = func() func() {
		return seed.Run(t, []string{r.namespace, others}, nil, func(mgr manager.Manager) error { return network.Add(mgr, *r.options) })
	}
	r.becomesRelease("two", false)
	r.isIn(n, wave.Progressing, wave.Updating)
}

// Also an operator that starts later sees that the health of a network has dropped.
func TestAnUpdateIsJudgedAfterARestart(t *testing.T) {
	r := paced(t, inGardener)
	n := r.finished(asking(extensionsv1alpha1.OperationReconcile))
	turns := func(status corev1beta1.ConditionStatus) {
		harness.ChangeStatus(t, r.client, n, func(n *extensionsv1alpha1.Network) {
			n.Status.Conditions, _ = condition.Set(n.Status.Conditions,
				corev1beta1.Condition{Type: extensionsv1alpha1.PodNetworkAvailable, Status: status, Reason: "Tested", Message: "tested"}, time.Now())
		})
	}
	turns(corev1beta1.ConditionTrue)
	r.becomesRelease("two", false)
	r.asks(n)
	r.Eventually(r.written).Should(Equal("overlay of release two"))
	r.applied()
	r.answered(n)
	r.stop()
	turns(corev1beta1.ConditionFalse)
	r.stop = r.start()
	r.isIn(n, wave.Failed, wave.Unhealthy)
	r.Eventually(r.events).Should(ContainElement("Warning RolloutFailed: After the update the condition PodNetworkAvailable became False"))
	kept, err := state.Decode(n.Status.State)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(kept.Rollout.Message).To(Equal("After the update the condition PodNetworkAvailable became False"))
}
