// SPDX-License-Identifier: Apache-2.0

// Package shootadmission serves the webhooks that admit Shoots of Trellis' networking types into
// a garden. What they answer is the pipeline's affair.
package shootadmission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// The paths of the webhooks (Gardener's contract).
const (
	ValidatePath = "/webhooks/validate"
	MutatePath   = "/webhooks/mutate"
)

// Add adds the webhooks to a server. env is that of the operators in the seeds.
func Add(server *webhook.Server, p *pipeline.Pipeline, env plugin.Environment) {
	r := &reviewer{p, env}
	for path, handler := range map[string]admission.HandlerFunc{ValidatePath: r.validate, MutatePath: r.mutate} {
		server.Handle(path, &admission.Webhook{Handler: handler, LogConstructor: func(logger logr.Logger, _ *admission.Request) logr.Logger {
			return logger.WithValues("webhook", path)
		}})
	}
}

// reviewer answers API servers.
type reviewer struct {
	pipeline *pipeline.Pipeline
	env      plugin.Environment
}

// validate is an admission.Handler.
func (r *reviewer) validate(_ context.Context, request admission.Request) admission.Response {
	old, shoot, err := shootsOf(&request)
	switch {
	case err != nil:
		return admission.Errored(http.StatusUnprocessableEntity, err)
	case shoot == nil || !r.serves(shoot):
		return admission.Allowed("")
	}
	review := r.pipeline.ReviewShoot(old, shoot, r.env)
	return answer(request.Name, &review)
}

// mutate is an admission.Handler. It admits what it cannot decode, and leaves it to the API
// server's own validation to refuse that.
func (r *reviewer) mutate(_ context.Context, request admission.Request) admission.Response {
	old, shoot, err := shootsOf(&request)
	if err != nil || shoot == nil || !r.serves(shoot) {
		return admission.Allowed("")
	}
	warnings, err := r.pipeline.DefaultShoot(old, shoot, r.env)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	changed, err := json.Marshal(shoot)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the changed Shoot: %w", err))
	}
	response := admission.PatchResponseFromRaw(request.Object.Raw, changed)
	response.Warnings = warningsOf(warnings)
	return response
}

// shootsOf returns the Shoots of a request that creates or updates one: old is nil for one that is
// created. For other requests both are nil.
func shootsOf(request *admission.Request) (old, shoot *corev1beta1.Shoot, err error) {
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update || request.SubResource != "" {
		return nil, nil, nil
	}
	if len(request.Object.Raw) == 0 {
		return nil, nil, errors.New("the AdmissionReview has no object")
	}
	shoot = &corev1beta1.Shoot{}
	if err := json.Unmarshal(request.Object.Raw, shoot); err != nil {
		return nil, nil, fmt.Errorf("the Shoot cannot be decoded: %w", err)
	}
	if request.Operation == admissionv1.Create {
		return nil, shoot, nil
	}
	old = &corev1beta1.Shoot{}
	if err := json.Unmarshal(request.OldObject.Raw, old); err != nil {
		return nil, shoot, nil // then nothing of it counts
	}
	return old, shoot, nil
}

// serves reports whether there is a plugin for a Shoot. Others are other admissions' affair.
func (r *reviewer) serves(shoot *corev1beta1.Shoot) bool {
	_, ok := r.pipeline.Plugin(ptr.Deref(ptr.Deref(shoot.Spec.Networking, corev1beta1.Networking{}).Type, ""))
	return ok
}
