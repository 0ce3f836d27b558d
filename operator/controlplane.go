// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/controller/cloudconfig"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/controlplane"
	"github.com/trellis-network/trellis/internal/pod"
	"github.com/trellis-network/trellis/internal/webhook"
	controlplanewebhook "github.com/trellis-network/trellis/internal/webhook/controlplane"
	"github.com/trellis-network/trellis/internal/webhook/registration"
)

// clouds returns what kube-controller-managers are adapted to, by the type of infrastructure.
func (o *Options) clouds() map[string]controlplane.Cloud {
	clouds := map[string]controlplane.Cloud{}
	for _, each := range o.Config.ControlPlane.KubeControllerManager {
		clouds[each.Provider] = controlplane.Cloud{VolumePlugin: each.ExternalCloudVolumePlugin, Config: each.CloudConfig, Template: each.CloudConfigTemplate}
	}
	return clouds
}

// RBAC cannot restrict create to names. An operator with another name needs a role with the name of its
// configuration.
//
// +kubebuilder:rbac:roleName=controlplane/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,verbs=create
// +kubebuilder:rbac:roleName=controlplane/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=gardener-extension-trellis,verbs=get;update

// addControlPlane adds the webhooks and the controller that adapt control planes, if the
// configuration has any for an infrastructure.
func (o *Options) addControlPlane(ctx context.Context, mgr ctrl.Manager, server *webhook.Server) error {
	clouds := o.clouds()
	if len(clouds) == 0 {
		return nil
	}
	own := &corev1.Namespace{}
	if err := mgr.GetAPIReader().Get(ctx, client.ObjectKey{Name: cmp.Or(o.Config.Webhooks.Namespace, pod.Namespace())}, own); err != nil {
		return fmt.Errorf("read the operator's namespace, with which the webhooks for control planes end: %w", err)
	}
	wanted := func() []client.Object {
		config := controlplanewebhook.Configuration(o.controlPlaneConfiguration(), clouds, server.ClientConfig)
		config.Labels[shoot.OperatorLabel] = o.Name
		config.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: own.Name, UID: own.UID}}
		return []client.Object{config}
	}
	for provider, cloud := range clouds {
		server.Handle(controlplanewebhook.Path(provider), controlplanewebhook.Handler(provider, cloud, mgr.GetClient()))
	}
	return errors.Join(
		mgr.Add(&registration.Keeper{Client: mgr.GetClient(), Server: server, Wanted: wanted, Leader: true, Clock: o.Clock}),
		cloudconfig.Add(mgr, cloudconfig.Options{Clouds: clouds}))
}
