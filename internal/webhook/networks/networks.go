// SPDX-License-Identifier: Apache-2.0

// Package networks serves the webhooks that change Networks on their way to the seed as Gardener's
// extensions for infrastructures do. It knows neither the infrastructures nor the changes: a
// plugin that is a plugin.NetworkMutator does.
package networks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Webhook changes the Networks of one type on one infrastructure.
type Webhook struct {
	// Infrastructure and NetworkType are the types in the labels of control-plane namespaces.
	Infrastructure, NetworkType string
	handler                     mutator
}

// Path returns the URL path of the webhook.
func (w *Webhook) Path() string { return "/network/" + w.Infrastructure + "/" + w.NetworkType }

// Handler returns the handler of the webhook, which recovers panics of the plugin.
func (w *Webhook) Handler() http.Handler { return &admission.Webhook{Handler: &w.handler} }

// All returns the webhooks of a pipeline: one for each plugin and infrastructure of which the
// plugin changes a Network without config.
func All(p *pipeline.Pipeline) ([]Webhook, error) {
	var all []Webhook
	for _, networkType := range p.Types() {
		one, _ := p.Plugin(networkType)
		if !one.IsNetworkMutator() {
			continue
		}
		for _, infrastructure := range p.Infrastructures() {
			facts := p.Infrastructure(infrastructure)
			mutated, err := mutate(one, &facts, nil)
			if err != nil {
				return nil, err
			}
			if mutated != nil {
				all = append(all, Webhook{infrastructure, networkType, mutator{one, facts}})
			}
		}
	}
	return all, nil
}

// mutate calls the plugin, whose panic is an error.
func mutate(one plugin.Plugin, infrastructure *plugin.Infrastructure, config *runtime.RawExtension) (mutated *runtime.RawExtension, err error) {
	err = plugin.Guard(one.Type, func() (err error) {
		mutated, err = one.MutateNetwork(infrastructure, config)
		return err
	})
	return mutated, err
}

type mutator struct {
	plugin         plugin.Plugin
	infrastructure plugin.Infrastructure
}

// Handle implements admission.Handler. It leaves a Network alone that is being deleted.
func (m *mutator) Handle(_ context.Context, request admission.Request) admission.Response {
	var network struct {
		Metadata struct {
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec struct {
			Type           string                `json:"type"`
			ProviderConfig *runtime.RawExtension `json:"providerConfig"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(request.Object.Raw, &network); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the Network cannot be decoded: %w", err))
	}
	if network.Metadata.DeletionTimestamp != nil || network.Spec.Type != m.plugin.Type {
		return admission.Allowed("")
	}
	mutated, err := mutate(m.plugin, &m.infrastructure, network.Spec.ProviderConfig)
	switch {
	case err != nil:
		return admission.Errored(http.StatusUnprocessableEntity, err)
	case mutated == network.Spec.ProviderConfig:
		return admission.Allowed("")
	}
	return admission.Patched("", jsonpatch.NewOperation("add", "/spec/providerConfig", json.RawMessage(mutated.Raw)))
}

// timeoutSeconds is how long an API server waits for an answer (Gardener's contract, 4.1).
const timeoutSeconds = 10

// Configuration returns the configuration of webhooks, with all fields that an API server would
// set to a default. clientConfig returns how the seed's API server calls the webhook at a path.
func Configuration(name string, webhooks []Webhook, clientConfig func(path string) admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.MutatingWebhookConfiguration {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{"remediation.webhook.shoot.gardener.cloud/exclude": "true"},
	}}
	for i := range webhooks {
		one := &webhooks[i]
		config.Webhooks = append(config.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name:         fmt.Sprintf("network-%s.%s.extensions.gardener.cloud", one.NetworkType, one.Infrastructure),
			ClientConfig: clientConfig(one.Path()),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{extensionsv1alpha1.GroupVersion.Group}, APIVersions: []string{extensionsv1alpha1.GroupVersion.Version},
					Resources: []string{"networks"}, Scope: new(admissionregistrationv1.AllScopes),
				},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: extensionsv1alpha1.ProviderLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{one.Infrastructure}},
				{Key: extensionsv1alpha1.NetworkTypeLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{one.NetworkType}},
			}},
			ObjectSelector: &metav1.LabelSelector{},
			FailurePolicy:  new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Exact),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(timeoutSeconds)),
			ReinvocationPolicy:      new(admissionregistrationv1.NeverReinvocationPolicy),
			AdmissionReviewVersions: []string{"v1", "v1beta1"},
		})
	}
	return config
}
