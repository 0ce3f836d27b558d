// SPDX-License-Identifier: Apache-2.0

// Package mutation serves the webhooks with which networks change objects in shoots.
//
// The package does not know which objects these are, nor how they change: a plugin that is
// a plugin.Mutator does, and renders the webhook configuration.
package mutation

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/plugin"
)

// Path returns the URL path for networks of a type.
func Path(networkType string) string { return "/shoot/" + networkType }

// Handler returns the webhook of a plugin that is a Mutator.
func Handler(definition plugin.Plugin) http.Handler {
	return &admission.Webhook{Handler: &mutator{definition}, LogConstructor: func(logger logr.Logger, _ *admission.Request) logr.Logger {
		return logger.WithValues("webhook", definition.Type)
	}}
}

type mutator struct{ plugin plugin.Plugin }

// Handle implements admission.Handler.
func (m *mutator) Handle(_ context.Context, request admission.Request) admission.Response {
	switch request.Operation {
	case admissionv1.Create, admissionv1.Update:
	case admissionv1.Delete, admissionv1.Connect:
		return admission.Allowed("")
	default:
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the AdmissionReview has the operation %q; must be CREATE, UPDATE, DELETE or CONNECT", request.Operation))
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the object cannot be decoded: %w", err))
	}
	if object.GetDeletionTimestamp() != nil {
		return admission.Allowed("")
	}
	var mutated []byte
	err := plugin.Guard(m.plugin.Type, func() error {
		changed, err := m.plugin.Mutate(object)
		if err != nil || !changed {
			return err
		}
		if mutated, err = object.MarshalJSON(); err != nil {
			return errors.New("the changed object cannot be encoded")
		}
		return nil
	})
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity, fmt.Errorf("the %s network must change the %s %s, and cannot: %w",
			m.plugin.Type, object.GetKind(), object.GetName(), err))
	}
	if mutated == nil {
		return admission.Allowed("")
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, mutated)
}
