// SPDX-License-Identifier: Apache-2.0

// Package adaptation answers the API servers of shoots that ask what a network needs
// an object to be like.
//
// It refuses to know which objects that concerns, and why: the network's plugin does
// (plugin.Mutator), and the webhook configuration that it renders.
package adaptation

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/plugin"
)

// Path is where API servers ask about networks of a type.
func Path(networkType string) string { return "/shoot/" + networkType }

// Handler answers for the networks of a plugin that is a Mutator.
func Handler(definition plugin.Plugin) http.Handler {
	return &admission.Webhook{Handler: &adapter{definition}}
}

type adapter struct{ plugin plugin.Plugin }

// Handle implements admission.Handler.
func (a *adapter) Handle(_ context.Context, request admission.Request) admission.Response {
	switch request.Operation {
	case admissionv1.Create, admissionv1.Update:
	case admissionv1.Delete, admissionv1.Connect:
		return admission.Allowed("")
	default:
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the AdmissionReview has the operation %q; there are CREATE, UPDATE, DELETE and CONNECT", request.Operation))
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the object cannot be decoded: %w", err))
	}
	if object.GetDeletionTimestamp() != nil {
		return admission.Allowed("")
	}
	adapted, err := a.adapt(object)
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity, fmt.Errorf("the %s network needs %s %s to be otherwise, and cannot change it: %w",
			a.plugin.Type, object.GetKind(), object.GetName(), err))
	}
	if adapted == nil {
		return admission.Allowed("")
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, adapted)
}

// adapt returns the object as the network needs it, nil if it is so already. A panic of
// the plugin is an error.
func (a *adapter) adapt(object *unstructured.Unstructured) (adapted []byte, err error) {
	err = plugin.Guard(a.plugin.Type, func() error {
		changed, err := a.plugin.Mutate(object)
		if err != nil || !changed {
			return err
		}
		if adapted, err = object.MarshalJSON(); err != nil {
			return errors.New("the plugin has made something of it that cannot be encoded")
		}
		return nil
	})
	return adapted, err
}
