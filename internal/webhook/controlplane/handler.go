// SPDX-License-Identifier: Apache-2.0

// Package controlplane serves the webhooks that adapt the kube-controller-managers of shoots to
// their infrastructure, one for each type of infrastructure, and keeps the configuration by which
// the seed's API server calls them.
package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/internal/controlplane"
)

// Path returns the URL path for shoots on an infrastructure.
func Path(provider string) string { return "/controlplane/" + provider }

// Handler returns the webhook for shoots on an infrastructure.
func Handler(provider string, cloud controlplane.Cloud) http.Handler {
	return &admission.Webhook{Handler: handler{cloud}, LogConstructor: func(logger logr.Logger, _ *admission.Request) logr.Logger {
		return logger.WithValues("webhook", "controlplane/"+provider)
	}}
}

type handler struct{ cloud controlplane.Cloud }

// Handle implements admission.Handler.
func (h handler) Handle(_ context.Context, request admission.Request) admission.Response {
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(request.Object.Raw, deployment); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the Deployment cannot be decoded: %w", err))
	}
	if deployment.Name != controlplane.KubeControllerManager || deployment.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	// The patch is the difference of two encodings of one Go type, so that it does not remove
	// fields of a newer API server.
	before, err := json.Marshal(deployment)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !h.cloud.Adapt(&deployment.Spec.Template) {
		return admission.Allowed("").WithWarnings("The Deployment is not adapted to its infrastructure: it has no container " + controlplane.KubeControllerManager)
	}
	after, err := json.Marshal(deployment)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(before, after)
}
