// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// A gardenlet writes the whole spec. What other clients have added to it is gone
// before it is ever carried out.
func TestWhatOthersAddToASpecIsReset(t *testing.T) {
	Shows(t, "C11")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.wants("mode", "first")
	p.deploys()
	p.ready()
	for range 2 {
		p.edit(func(n *extensionsv1alpha1.Network) {
			n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"mode":"first","extra":"theirs"}`)}
		})
		p.Expect(p.givesUp().Last.Message).To(MatchRegexp(`observed generation outdated`))
		p.deploys()
		p.ready()
		n := p.now()
		p.Expect(string(n.Spec.ProviderConfig.Raw)).To(MatchJSON(`{"mode":"first"}`))
		p.Expect(n.Status.ObservedGeneration).To(Equal(n.Generation))
		p.Expect(p.isGone(shoot.client, configMap(p.namespace, "extra", ""))).To(BeTrue())
	}
}

// Webhooks of a seed add to each spec what the infrastructure needs. They do so
// whenever the gardenlet writes, so that the spec does not change, nor its
// generation; it is carried out as it is then.
func TestSpecsThatWebhooksMutate(t *testing.T) {
	Shows(t, "C11")
	t.Parallel()
	_, in, shoot := clusters(t)
	namespace := newNamespace()
	name := "mutator." + namespace
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      ptr.To(admissionv1.Fail),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{"extensions.gardener.cloud"}, APIVersions: []string{"*"}, Resources: []string{"networks"},
					},
				}}},
			},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "add", path: "/spec/providerConfig/extra", value: "webhook"}]`},
			}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
	p := newControlPlane(t, in, shoot, namespace)
	p.Expect(in.client.Create(t.Context(), policy)).To(Succeed())
	p.Expect(in.client.Create(t.Context(), binding)).To(Succeed())
	p.Eventually(func() string {
		n := plainNetwork(namespace, "probe")
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{}`)}
		p.Expect(in.client.Create(t.Context(), n, client.DryRunAll)).To(Succeed())
		return string(n.Spec.ProviderConfig.Raw)
	}).Should(ContainSubstring("webhook"))

	p.wants("mode", "first")
	for range 3 {
		p.deploys()
		p.ready()
		n := p.now()
		p.Expect(n.Generation).To(BeEquivalentTo(1))
		p.Expect(string(n.Spec.ProviderConfig.Raw)).To(MatchJSON(`{"mode":"first","extra":"webhook"}`))
		p.Expect(inShoot(p, configMap(namespace, "extra", "")).Data["content"]).To(Equal("webhook"))
	}
	p.wants("mode", "second")
	p.deploys()
	p.ready()
	p.Expect(p.mode()).To(Equal("second"))
	p.Expect(p.isGone(shoot.client, configMap(namespace, "extra", ""))).To(BeFalse())
	isDeleted(p)
}
