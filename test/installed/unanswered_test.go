// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/unanswered"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/test/harness"
)

// told are the notes of the events with a reason about an object.
func (o *installed) told(reason string, object client.Object) []string {
	o.t.Helper()
	list := &eventsv1.EventList{}
	o.Expect(o.seed.List(o.t.Context(), list, client.InNamespace(object.GetNamespace()))).To(Succeed())
	var notes []string
	for i := range list.Items {
		if each := &list.Items[i]; each.Reason == reason && each.Regarding.UID == object.GetUID() {
			notes = append(notes, each.Note)
		}
	}
	return notes
}

// written are the requests of an operator that write in a namespace, but for events.
func (o *installed) written(namespace string) []string {
	return slices.DeleteFunc(o.usage.Written(namespace), func(request string) bool { return strings.HasSuffix(request, "/events") })
}

// Without Gardener, the user of a Shoot is told within a minute that no operator has its type, and
// that the operator that had it is gone. Its network is not touched, and that operator continues
// when it is back.
func TestUsersAreToldWhatNoOperatorAnswers(t *testing.T) {
	const own, other = "trellis-operators-left", "gone"
	ours, theirs, _ := besideEachOther(t, own, other)
	ours.start()
	theirs.start()
	left := shootOf("second", "flannel")
	ours.create(left)
	theirs.succeeds(left)
	theirs.stop()
	written := len(ours.written("shoot--dev--second"))

	nobodys := shootOf("first", "rope")
	ours.create(nobodys)
	harness.Change(t, ours.seed, left, func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers[0].Maximum = 3 })
	ours.Eventually(func(g Gomega) {
		g.Expect(ours.seed.Get(t.Context(), client.ObjectKeyFromObject(nobodys), nobodys)).To(Succeed())
		g.Expect(nobodys.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateError))
	}).WithTimeout(patience).Should(Succeed())
	ours.Expect(nobodys.Status.LastOperation.Description).To(ContainSubstring(
		`spec.networking.type: Unsupported value: "rope": supported values: "calico" by the operator trellis-operator; no other operator has taken the Network within 30s`))
	t.Logf("told %s after the Shoot was created", nobodys.Status.LastOperation.LastUpdateTime.Sub(nobodys.CreationTimestamp.Time))
	ours.Eventually(func() []string { return ours.told(unanswered.Reason, left) }).WithTimeout(patience).Should(ConsistOf(
		`No operator has answered within 45s: install and start the one for networks of the type "flannel". ` +
			"The operator trellis-operator has the types calico. The operator gone has reconciled it until now."))
	ours.Expect(ours.told(unanswered.Reason, nobodys)).To(BeEmpty(), "it is answered")
	ours.Expect(ours.written("shoot--dev--second")).To(HaveLen(written), "nothing of the other operator's is touched")

	theirs.start()
	theirs.succeeds(left)
	theirs.delete(left)
	ours.delete(nobodys)
	ours.stop()
	theirs.stop()
	ours.Expect(slices.Concat(ours.usage.Refused(), theirs.usage.Refused())).To(BeEmpty())
}

// In a landscape, each operator has a namespace of its own, with a heartbeat. Each answers gardenlet
// for its own types, and tells what no operator answers.
func TestOperatorsBesideEachOtherInALandscape(t *testing.T) {
	seed, later := landscapeSeed(t), &ahead{}
	ours := newInstalled(t, seed, "extension-ours", "mode: gardener", pluginsOf("calico"))
	theirs := newInstalled(t, seed, "extension-theirs", "mode: gardener", pluginsOf("flannel"))
	theirs.user, theirs.options.Name = "user-theirs", "theirs"
	theirs.mayAsInTheGuide()
	ours.options.Clock, theirs.options.Clock = later, later
	g := ours.WithT
	networks := map[string]*extensionsv1alpha1.Network{}
	for name, networkType := range map[string]string{"ours": "calico", "theirs": "flannel", "nobodys": "rope"} {
		controlPlane := "shoot--beside--" + name
		ours.create(namespaceNamed(controlPlane))
		seed.PutShoot(t, controlPlane, shootOf(name, networkType))
		networks[name] = &extensionsv1alpha1.Network{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: controlPlane, Name: name,
				Annotations: map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile},
			},
			Spec: extensionsv1alpha1.NetworkSpec{Type: networkType, PodCIDR: "100.64.0.0/12", ServiceCIDR: "100.96.0.0/13"},
		}
		ours.create(networks[name])
	}
	ours.start()
	theirs.start()
	ours.isApplied(networks["ours"])
	theirs.isApplied(networks["theirs"])

	tells := func(network *extensionsv1alpha1.Network) []string {
		later.skip(45 * time.Second)
		harness.Change(t, seed, network, func(n *extensionsv1alpha1.Network) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, "time", later.Now().String())
		})
		return ours.told(unanswered.Reason, network)
	}
	g.Eventually(func() []string { return tells(networks["nobodys"]) }).Should(ConsistOf(
		ContainSubstring("The operator trellis-operator has the types calico."), ContainSubstring("The operator theirs has the types flannel.")))
	theirs.stop()
	ours.Expect(ours.written("shoot--beside--theirs")).To(BeEmpty())
	harness.Change(t, seed, networks["theirs"], func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.OperationAnnotation, extensionsv1alpha1.OperationReconcile)
	})
	g.Eventually(func() []string { return tells(networks["theirs"]) }).Should(ConsistOf(ContainSubstring(`type "flannel"`)))
	ours.stop()
	for _, name := range []string{"theirs", "nobodys"} {
		g.Expect(ours.written("shoot--beside--" + name)).To(BeEmpty())
	}
	g.Expect(theirs.written("shoot--beside--ours")).To(BeEmpty())
	g.Expect(slices.Concat(ours.usage.Refused(), theirs.usage.Refused())).To(BeEmpty())
	ours.leads(operator.DefaultName)
	theirs.leads("theirs")
	for _, each := range []*installed{ours, theirs} {
		heartbeat := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: each.namespace, Name: "gardener-extension-heartbeat"}}
		seed.Read(t, heartbeat)
	}
	for _, network := range networks { // so that the seed is as before for others
		harness.Change(t, seed, network, func(n *extensionsv1alpha1.Network) {
			n.Finalizers = nil
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.ConfirmationAnnotation, "true")
		})
		g.Expect(seed.Delete(t.Context(), network)).To(Succeed())
	}
}

// ahead is a clock that can be put forward. It ticks like the real one.
type ahead struct {
	clock.RealClock
	by atomic.Int64
}

func (a *ahead) skip(by time.Duration) { a.by.Add(int64(by)) }

// Now implements clock.PassiveClock.
func (a *ahead) Now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

// Since implements clock.PassiveClock.
func (a *ahead) Since(since time.Time) time.Duration { return a.Now().Sub(since) }
