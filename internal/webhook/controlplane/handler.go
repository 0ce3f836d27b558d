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
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/internal/controlplane"
)

// Path returns the URL path for shoots on an infrastructure.
func Path(provider string) string { return "/controlplane/" + provider }

// Handler returns the webhook for shoots on an infrastructure. configs reads the ConfigMaps with
// cloud configs that are different for each shoot.
func Handler(provider string, cloud controlplane.Cloud, configs client.Reader) http.Handler {
	return &admission.Webhook{Handler: handler{cloud, configs}, LogConstructor: func(logger logr.Logger, _ *admission.Request) logr.Logger {
		return logger.WithValues("webhook", "controlplane/"+provider)
	}}
}

type handler struct {
	cloud   controlplane.Cloud
	configs client.Reader
}

// Handle implements admission.Handler.
func (h handler) Handle(ctx context.Context, request admission.Request) admission.Response {
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(request.Object.Raw, deployment); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("the Deployment cannot be decoded: %w", err))
	}
	if deployment.Name != controlplane.KubeControllerManager || deployment.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	cloud, err := h.cloudFor(ctx, request.Namespace)
	if err != nil {
		return admission.Errored(http.StatusServiceUnavailable, err)
	}
	// The patch is the difference of two encodings of one Go type, so that it does not remove
	// fields of a newer API server.
	before, err := json.Marshal(deployment)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !cloud.Adapt(&deployment.Spec.Template) {
		return admission.Allowed("").WithWarnings("The Deployment is not adapted to its infrastructure: it has no container " + controlplane.KubeControllerManager)
	}
	after, err := json.Marshal(deployment)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(before, after)
}

// cloudFor returns what the control plane in a namespace gets. A kube-controller-manager would not
// start without its cloud config, so it is not written before that.
func (h handler) cloudFor(ctx context.Context, namespace string) (controlplane.Cloud, error) {
	if h.cloud.Template == "" {
		return h.cloud, nil
	}
	key, config := client.ObjectKey{Namespace: namespace, Name: controlplane.ConfigMapName}, &corev1.ConfigMap{}
	if err := h.configs.Get(ctx, key, config); err != nil {
		return h.cloud, fmt.Errorf("read the cloud config, which is written once the Infrastructure has reported what it needs: %w", err)
	}
	written := controlplane.Cloud{VolumePlugin: h.cloud.VolumePlugin, Config: config.Data[controlplane.ConfigKey]}
	if written.Config == "" {
		return h.cloud, fmt.Errorf("the ConfigMap %s has no %s yet", key, controlplane.ConfigKey)
	}
	return written, nil
}
