// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controlplane"
)

// timeoutSeconds is how long an API server waits for an answer, as for all webhooks of Gardener's
// extensions (Gardener's contract, 4.1).
const timeoutSeconds = 10

// Configuration returns the configuration of the webhooks, with all fields that an API server
// would set to a default. clientConfig returns how the seed's API server calls the webhook at a
// path. The configuration has a webhook for each type of infrastructure, with the name, and the
// selectors, that Gardener's extensions give theirs.
func Configuration(name string, clouds map[string]controlplane.Cloud, clientConfig func(path string) admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.MutatingWebhookConfiguration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		// The care controllers of gardenlets leave it alone.
		Labels: map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"},
	}}
	for _, provider := range slices.Sorted(maps.Keys(clouds)) {
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name:         fmt.Sprintf("controlplane.%s.extensions.gardener.cloud", provider),
			ClientConfig: clientConfig(Path(provider)),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
					Scope: new(admissionregistrationv1.NamespacedScope),
				},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: extensionsv1alpha1.ProviderLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{provider},
			}}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{controlplane.MutatedLabel: "true"}},
			// While the operator does not answer, other Deployments can still be written.
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name:       controlplane.KubeControllerManager,
				Expression: fmt.Sprintf("has(object.metadata.name) && object.metadata.name == %q", controlplane.KubeControllerManager),
			}},
			FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Exact),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(timeoutSeconds)),
			ReinvocationPolicy:      new(admissionregistrationv1.NeverReinvocationPolicy),
			AdmissionReviewVersions: []string{"v1", "v1beta1"},
		})
	}
	return config
}
