// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/test/contract"
)

// With delete-on-invalid-update, the operator recreates an object whose update the API
// server refuses.
func TestDeleteOnInvalidUpdate(t *testing.T) {
	contract.Shows(t, "R32", "R34")
	e := newEnv(t)
	d := e.deployment("d", nil)
	e.state("network", d)
	e.operator()
	e.becomesGood("network")
	uid := live(e, d).UID

	other := e.deployment("d", nil)
	other.Spec.Selector.MatchLabels["more"], other.Spec.Template.Labels["more"] = "x", "x"
	e.state("network", other)
	e.Eventually(e.message("network", "ResourcesApplied")).Should(And(
		HavePrefix(`error during apply of object "apps/v1/Deployment/%s/d": `, e.namespace), HaveSuffix("field is immutable")))
	e.Expect(live(e, d).UID).To(Equal(uid))

	other.Annotations = map[string]string{resourcesv1alpha1.DeleteOnInvalidUpdate: "true"}
	e.state("network", other)
	e.becomesGood("network")
	e.Expect(live(e, d).UID).NotTo(Equal(uid))
}

// The operator deletes an immutable object whose content changes, reports that as an error,
// and creates it again, also after a restart.
func TestImmutableObjectsAreReplaced(t *testing.T) {
	contract.Shows(t, "R14")
	for name, restarts := range map[string]bool{"without a restart": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			objects := func(value string) []client.Object {
				cm := e.configMap("immutable", "key", value)
				cm.Immutable = ptr.To(true)
				secret := &corev1.Secret{
					TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
					ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "immutable"},
					Immutable:  ptr.To(true), Data: map[string][]byte{"key": []byte(value)},
				}
				return []client.Object{cm, secret}
			}
			e.state("network", objects("one")...)
			stop := e.operator()
			e.becomesGood("network")
			if restarts {
				stop()
			}
			e.state("network", objects("two")...)
			if restarts {
				e.operator()
			}
			e.becomesGood("network")
			two := objects("two")
			e.Expect(live(e, two[0].(*corev1.ConfigMap)).Data).To(HaveKeyWithValue("key", "two"))
			e.Expect(live(e, two[1].(*corev1.Secret)).Data).To(HaveKeyWithValue("key", []byte("two")))
			for _, kind := range []string{"ConfigMap", "Secret"} {
				e.Expect(e.audit.bodies()).To(ContainElement(And(
					ContainSubstring("v1/"+kind+"/"+e.namespace+"/immutable"),
					ContainSubstring("field is immutable when `immutable` is set; it was deleted and will be created again"))))
			}
		})
	}
}

// The operator keeps an immutable object if the API server would refuse a new one as well.
func TestImmutableObjectsOutliveWhatIsInvalid(t *testing.T) {
	contract.Shows(t, "R14")
	e := newEnv(t)
	cm := e.configMap("immutable", "key", "one")
	cm.Immutable = ptr.To(true)
	e.state("network", cm)
	e.operator()
	e.becomesGood("network")
	uid := live(e, cm).UID
	for name, value := range map[string]string{"invalid in itself": "one", "and another content besides": "two"} {
		t.Run(name, func(*testing.T) {
			invalid := cm.DeepCopy()
			invalid.Labels = map[string]string{"label": "no such value!"}
			invalid.Data["key"] = value
			mr := e.state("network", invalid)
			e.Eventually(func() string {
				if now := condition.Value(e.get("network").Status.Conditions, resourcesv1alpha1.ResourcesApplied); now.Reason == reasonApplyFailed {
					return now.Message
				}
				return ""
			}).Should(And(ContainSubstring("no such value!"), Not(ContainSubstring("deleted"))), "generation %d", mr.Generation)
			e.Expect(live(e, cm).UID).To(Equal(uid))
			e.state("network", cm)
			e.becomesGood("network")
		})
	}
	e.Expect(e.audit.sent("shoot DELETE")).To(BeEmpty())
}

// The type of a Secret cannot be updated. The API server's error differs from that about
// the content.
func TestAnImmutableSecretOfAnotherTypeIsReplaced(t *testing.T) {
	contract.Shows(t, "R14")
	e := newEnv(t)
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "immutable"},
		Immutable:  ptr.To(true), Type: "example.org/one",
	}
	e.state("network", secret)
	e.operator()
	e.becomesGood("network")
	secret.Type = "example.org/two"
	e.state("network", secret)
	e.becomesGood("network")
	e.Expect(string(live(e, secret).Type)).To(Equal("example.org/two"))
}
