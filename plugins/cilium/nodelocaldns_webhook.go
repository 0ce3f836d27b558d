// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// Names of what Gardener's extension has in the same place, so that it is replaced.
const (
	admissionResource = "extension-cilium-shoot-webhooks"
	webhookConfigName = "gardener-extension-networking-cilium-shoot"
	webhookName       = "shoot.networking-cilium.extensions.gardener.cloud"
)

const (
	// unremedied keeps Gardener from weakening the webhook, as it does with users' webhooks
	// that may block a cluster.
	unremedied = "remediation.webhook.shoot.gardener.cloud/exclude"
	// purposeLabel with the value kube-system is on that namespace in Gardener's shoots.
	purposeLabel = "gardener.cloud/purpose"
)

// cacheWebhook has the API server ask Trellis about the cache's objects. While Trellis
// does not answer, the API server refuses to write them: nodes would otherwise lose DNS.
func cacheWebhook(in *plugin.Input) *admissionregistrationv1.MutatingWebhookConfiguration {
	meta := system.ClusterWide(webhookConfigName)
	meta.Labels = map[string]string{unremedied: "true"}
	namespaces := namespaceSelector(purposeLabel)
	if in.PodAccess != nil { // without Gardener, namespaces lack the label
		namespaces = namespaceSelector(corev1.LabelMetadataName)
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta:   system.TypeMeta(admissionregistrationv1.SchemeGroupVersion.String(), "MutatingWebhookConfiguration"),
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: webhookName,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: new(in.Webhook.URL), CABundle: slices.Clone(in.Webhook.CABundle),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{
				whenWritten("", "configmaps"),
				whenWritten("apps", "daemonsets"),
			},
			NamespaceSelector:       namespaces,
			ObjectSelector:          ofCaches(),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			MatchPolicy:             new(admissionregistrationv1.Exact),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			ReinvocationPolicy:      new(admissionregistrationv1.NeverReinvocationPolicy),
			TimeoutSeconds:          new(int32(10)),
			AdmissionReviewVersions: []string{"v1", "v1beta1"},
		}},
	}
}

// whenWritten matches objects of one kind that are created or updated.
func whenWritten(group, resource string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource},
			Scope: new(admissionregistrationv1.AllScopes),
		},
	}
}

// namespaceSelector selects kube-system by a label that has its name as value.
func namespaceSelector(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: label, Operator: metav1.LabelSelectorOpIn, Values: []string{namespace}},
	}}
}
