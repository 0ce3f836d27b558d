// SPDX-License-Identifier: Apache-2.0

package shootadmission

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/pipeline"
)

// timeoutSeconds is how long an API server waits for an answer, which takes milliseconds. Users
// wait as long, and other requests behind them, while trellis-admission does not answer.
const timeoutSeconds = 5

// Selection is how API servers select the Shoots of a networking type: those of other types must
// not depend on Trellis.
type Selection string

const (
	// ByLabel selects by the label that Gardener's API server sets.
	ByLabel Selection = "label"
	// ByType selects by the type in the spec, where there is no Gardener.
	ByType Selection = "type"
)

// typeLabel is the prefix of the label that Gardener's API server sets on Shoots (Gardener's
// contract, A1).
const typeLabel = "networking.extensions.gardener.cloud/"

// Configurations returns the webhook configurations with a name: one that validates, and one that
// mutates if a plugin is a plugin.ShootDefaulter. Each has a webhook for each networking type.
func Configurations(name string, selection Selection, server *webhook.Server, p *pipeline.Pipeline) []client.Object {
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}
	for _, networkType := range p.Types() {
		selector, conditions := selectionOf(selection, networkType)
		rules := []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{corev1beta1.GroupVersion.Group}, APIVersions: []string{corev1beta1.GroupVersion.Version},
				Resources: []string{"shoots"}, Scope: new(admissionregistrationv1.NamespacedScope),
			},
		}}
		validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: networkType + ".validate.admission.trellis.network", ClientConfig: server.ClientConfig(ValidatePath),
			Rules: rules, ObjectSelector: selector, MatchConditions: conditions, NamespaceSelector: &metav1.LabelSelector{},
			FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(timeoutSeconds)),
			AdmissionReviewVersions: []string{"v1"},
		})
		if found, _ := p.Plugin(networkType); !found.IsShootDefaulter() {
			continue
		}
		mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: networkType + ".mutate.admission.trellis.network", ClientConfig: server.ClientConfig(MutatePath),
			Rules: rules, ObjectSelector: selector, MatchConditions: conditions, NamespaceSelector: &metav1.LabelSelector{},
			FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(timeoutSeconds)),
			ReinvocationPolicy: new(admissionregistrationv1.NeverReinvocationPolicy), AdmissionReviewVersions: []string{"v1"},
		})
	}
	all := []client.Object{validating}
	if len(mutating.Webhooks) > 0 {
		all = append(all, mutating)
	}
	return all
}

// selectionOf returns which Shoots of a type API servers ask about: those of which the webhooks may
// check something. So metadata can be written, and Shoots be deleted, without an admission.
func selectionOf(selection Selection, networkType string) (*metav1.LabelSelector, []admissionregistrationv1.MatchCondition) {
	conditions := []admissionregistrationv1.MatchCondition{
		{Name: "is-not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"},
		{Name: "spec-changes", Expression: "request.operation == 'CREATE' || object.?spec != oldObject.?spec"},
	}
	if selection == ByLabel {
		return &metav1.LabelSelector{MatchLabels: map[string]string{typeLabel + networkType: "true"}}, conditions
	}
	return &metav1.LabelSelector{}, append(conditions, admissionregistrationv1.MatchCondition{
		Name: "network-type", Expression: fmt.Sprintf("object.?spec.networking.type.orValue('') == %q", networkType),
	})
}
