// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

// An invalid config is an error with its path; what runs
// goes on running; correcting it is all that is needed.
func TestInvalidConfigsAreErrorsAndChangeNothing(t *testing.T) {
	contract.Shows(t, "N3", "N4", "N5", "N6", "N7", "N24")
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.network(asked, withConfig(`{"backend":"unknown"}`))
		e.becomes(n, create, erroneous)
		e.Expect(n.Status.LastOperation.Progress).To(BeEquivalentTo(50))
		e.Expect(n.Status.LastOperation.Description).To(HavePrefix(`Error reconciling Network: spec.providerConfig.backend: Unsupported value: "unknown"`))
		e.Expect(n.Status.LastError.Description).To(Equal(n.Status.LastOperation.Description))
		e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
		e.Expect(n.Status.LastError.TaskID).To(BeNil())
		e.Expect(n.Status.LastError.LastUpdateTime).NotTo(BeNil())
		e.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
		e.stays(n)

		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"overlay"}`)(n); asked(n) })
		mr := e.managedResource()
		e.becomes(n, create, working)
		e.Expect(n.Status.LastError).NotTo(BeNil(), "what was wrong stays known until it is right")
		e.applied()
		e.becomes(n, create, fine)
		e.Expect(n.Status.LastError).To(BeNil())

		secret := mr.Spec.SecretRefs
		e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"unknown"}`)(n); asked(n) })
		e.becomes(n, again, erroneous)
		e.get(mr)
		e.Expect(mr.Spec.SecretRefs).To(Equal(secret))
	})
}

// What Gardener's validation refuses in a landscape is an error here, too, and what
// is there stays.
func TestRangesThatDoNotFitAreErrors(t *testing.T) {
	contract.Shows(t, "C12", "N24")
	for name, test := range map[string]struct {
		pods, services, says string
	}{
		"another family":   {"fd00:1::/64", "10.2.0.0/16", "spec.podCIDR: Invalid value: \"fd00:1::/64\""},
		"no range":         {"10.1.0.0/16", "10.2.0.0", "spec.serviceCIDR: Invalid value: \"10.2.0.0\""},
		"the same for all": {"10.1.0.0/16", "10.1.128.0/17", "spec.serviceCIDR: Invalid value: \"10.1.128.0/17\""},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t, inGardener)
			n := e.network(asking("reconcile"), func(n *extensionsv1alpha1.Network) { n.Spec.PodCIDR, n.Spec.ServiceCIDR = test.pods, test.services })
			e.becomes(n, create, erroneous)
			e.Expect(n.Status.LastError.Description).To(ContainSubstring(test.says))
			e.Expect(n.Status.LastError.Codes).To(ConsistOf(corev1beta1.ErrorConfigurationProblem))
			e.Expect(e.names()).To(BeEmpty())
		})
	}
}

// A range of the nodes that does not fit to those in use is an error.
func TestNodesThatDoNotFitAreAnError(t *testing.T) {
	contract.Shows(t, "C12", "N24")
	e := setup(t, inGardener)
	n := e.finished(asking("reconcile"))
	mr := e.managedResource()
	e.cluster(func(s *corev1beta1.Shoot) { s.Spec.Networking = &corev1beta1.Networking{Nodes: ptr.To("10.2.0.0/24")} })
	e.patch(n, asking("reconcile"))
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring("10.2.0.0/24"))
	e.stays(mr)
}

// Gardener's webhooks write configs without apiVersion and kind.
func TestConfigsWithoutKindAreTaken(t *testing.T) {
	contract.Shows(t, "N23")
	e := setup(t)
	n := e.finished(withConfig(`{"backend":"none","kind":""}`))
	e.Expect(string(n.Status.ProviderStatus.Raw)).To(ContainSubstring(`"backend":"none"`))
}

// A resource manager that knows what retrying won't cure says so by a code.
func TestTheResourceManagersCodesCount(t *testing.T) {
	contract.Shows(t, "N6", "N36")
	e := setup(t)
	n := e.network()
	e.managedResource()
	e.resourceManager("False", "ApplyFailed", "the credentials are refused", time.Now(),
		corev1beta1.ErrorRetryableConfigurationProblem, corev1beta1.ErrorConfigurationProblem, corev1beta1.ErrorRetryableConfigurationProblem)
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Codes).To(HaveExactElements(
		corev1beta1.ErrorConfigurationProblem, corev1beta1.ErrorRetryableConfigurationProblem), "all of them, each once, sorted")
}

// What Gardener's resource manager cannot apply is an error at once where retrying
// won't help, and after two minutes otherwise. What has not been tried is one after the
// three minutes that its caller waits.
func TestObjectsThatCannotBeAppliedAreErrors(t *testing.T) {
	contract.Shows(t, "N36", "R32")
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		status          corev1beta1.ConditionStatus
		reason, message string
		since           time.Duration
		state           corev1beta1.LastOperationState
		codes           []corev1beta1.ErrorCode
	}{
		"invalid":               {"False", "ApplyFailed", `error during apply of object "v1/ConfigMap/kube-system/example": ConfigMap "example" is invalid: data`, 0, erroneous, []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}},
		"forbidden, just now":   {"False", "ApplyFailed", `error during apply of object "v1/ConfigMap/kube-system/example": configmaps "example" is forbidden: no`, time.Minute, working, nil},
		"forbidden for long":    {"False", "ApplyFailed", `error during apply of object "v1/ConfigMap/kube-system/example": configmaps "example" is forbidden: no`, 2 * time.Minute, erroneous, nil},
		"undecodable":           {"False", "DecodingFailed", "not YAML", 0, erroneous, []corev1beta1.ErrorCode{corev1beta1.ErrorConfigurationProblem}},
		"unreachable, just now": {"False", "ApplyFailed", "connection refused", time.Minute, working, nil},
		"unreachable for long":  {"False", "ApplyFailed", "connection refused", 2 * time.Minute, erroneous, nil},
		"in the next attempt":   {"Progressing", "ApplyFailed", "connection refused", 2 * time.Minute, erroneous, nil},
		"held up for long":      {"Progressing", "DeletionPending", "ConfigMap kube-system/old is still there", 2 * time.Minute, erroneous, []corev1beta1.ErrorCode{corev1beta1.ErrorCleanupClusterResources}},
		"held up, just now":     {"Progressing", "DeletionPending", "ConfigMap kube-system/old is still there", time.Minute, working, nil},
		"at work":               {"Progressing", "ApplyProgressing", "applying", 2 * time.Minute, working, nil},
		"at work for long":      {"Progressing", "ApplyProgressing", "the ManagedResource example-config was not applied within 3m0s: its resource manager reports: applying", 3 * time.Minute, erroneous, nil},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(begin)
			e := setup(t, inGardener, at(clock))
			n := e.network(asking("reconcile"))
			e.managedResource()
			e.becomes(n, create, working)
			now := begin.Add(test.since)
			clock.SetTime(now)
			_, said, found := strings.Cut(test.message, " reports: ")
			if !found {
				said = test.message
			}
			e.resourceManager(test.status, test.reason, said, now)
			e.becomes(n, create, test.state)
			e.stays(n)
			e.Expect(n.Status.LastOperation.State).To(Equal(test.state))
			if test.state == erroneous {
				e.Expect(n.Status.LastError.Description).To(And(HavePrefix("Error reconciling Network: "), HaveSuffix(test.message)))
				e.Expect(n.Status.LastError.Codes).To(Equal(test.codes))
			}
			e.applied()
			e.becomes(n, create, fine)
			e.Expect(n.Status.LastError).To(BeNil())
		})
	}
}

const refusal = `error during apply of object "v1/ConfigMap/kube-system/example": ConfigMap "example" is invalid: data`

// refusedAt is a Network, at a moment, whose objects were refused.
func refusedAt(t *testing.T, begin time.Time) (*env, *extensionsv1alpha1.Network, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(begin)
	e := setup(t, inGardener, at(clock))
	n := e.network(asking("reconcile"))
	e.resourceManager("False", "ApplyFailed", refusal, begin)
	e.becomes(n, create, erroneous)
	return e, n, clock
}

// What was refused before is not said of what was written since.
func TestAnOldRefusalIsNotTheNewSpecs(t *testing.T) {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	e, n, clock := refusedAt(t, begin)
	clock.SetTime(begin.Add(10 * time.Second))
	e.patch(n, func(n *extensionsv1alpha1.Network) { withConfig(`{"backend":"none"}`)(n); asking("reconcile")(n) })
	e.becomes(n, create, working)
	e.stays(n)
	e.resourceManager("False", "ApplyFailed", refusal, begin.Add(11*time.Second))
	e.becomes(n, create, erroneous)
}

// What was refused before and is still told when the time is up is told with its codes:
// Gardener's resource manager waits ever longer before it tries again.
func TestAnOldRefusalThatIsToldKeepsItsCodes(t *testing.T) {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	e, n, clock := refusedAt(t, begin)
	clock.SetTime(begin.Add(time.Hour))
	e.patch(n, asking("reconcile"))
	e.becomes(n, create, working)
	clock.SetTime(begin.Add(time.Hour + 2*time.Minute))
	mr := e.managedResource()
	before := mr.DeepCopy()
	metav1.SetMetaDataAnnotation(&mr.ObjectMeta, "example.org/look", "again")
	e.Expect(e.client.Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
	e.becomes(n, create, erroneous)
	e.Expect(n.Status.LastError.Codes).To(HaveExactElements(corev1beta1.ErrorConfigurationProblem))
}

func TestADeletedManagedResourceIsPutBack(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked)
		e.Expect(e.client.Delete(t.Context(), e.managedResource())).To(Succeed())
		e.becomes(n, again, working)
		e.applied()
		e.becomes(n, again, fine)
	})
}

// One that is still going when it is wanted again is written once it is gone.
func TestAManagedResourceBeingDeletedIsWrittenOnceItIsGone(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		n := e.finished(asked, withConfig(`{"monitoring":"left"}`))
		for _, name := range []string{seedName, mainName} {
			going := e.holding(e.managedResourceOf(name))
			e.Expect(e.client.Delete(t.Context(), going)).To(Succeed())
			e.patch(n, asked)
			e.Eventually(func() map[string]string { e.get(n); return n.Annotations }).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
			e.letGo(going)
			e.Eventually(func() bool { return e.managedResourceOf(name).UID != going.UID }).Should(BeTrue())
			e.applied()
			e.becomes(n, again, fine)
		}
	})
}

// A failure that lasts is reported once, however often the controller tries again.
func TestAFailureThatLastsIsReportedOnce(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		var attempts atomic.Int32
		e.requests.Before(func(request *http.Request) error {
			if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/secrets") {
				return nil
			}
			attempts.Add(1)
			return errors.New("no Secrets today")
		})
		n := e.network(asked)
		e.becomes(n, create, erroneous)
		before := attempts.Load()
		e.stays(n)
		e.Eventually(attempts.Load).Should(BeNumerically(">", before+1))
		e.stays(n)
		e.requests.Before(nil)
		e.managedResource()
		e.becomes(n, create, working)
		e.applied()
		e.becomes(n, create, fine)
	})
}

// A ManagedResource may have former content: a process ended before it wrote the present
// one, or a user changed it.
func TestAManagedResourceGetsItsContentBack(t *testing.T) {
	modes(t, func(t *testing.T, e *env, asked func(*extensionsv1alpha1.Network)) {
		e.finished(asked)
		mr := e.managedResource()
		present := mr.Spec.SecretRefs
		before := mr.DeepCopy()
		mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "former"}}
		e.Expect(e.client.Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
		e.Eventually(func() []corev1.LocalObjectReference { return e.managedResource().Spec.SecretRefs }).Should(Equal(present))
	})
}
