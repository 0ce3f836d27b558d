// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/pod"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/internal/webhook/registration"
)

// addWebhookServer adds the webhook server if the configuration states how API servers reach it,
// and otherwise returns nil.
func (o *Options) addWebhookServer(ctx context.Context, mgr ctrl.Manager, mode configv1alpha1.Mode) (*webhook.Server, error) {
	settings := &o.Config.Webhooks
	if settings.BindAddress == "0" || settings.URL == "" && settings.ServiceName == "" {
		o.Log.Info("Webhooks are disabled: they need webhooks.url or webhooks.serviceName, and a webhooks.bindAddress other than 0")
		return nil, nil
	}
	calledBySeed := settings.Networks || len(o.Config.ControlPlane.KubeControllerManager) > 0
	if settings.URL == "" && mode != configv1alpha1.ModeGardener && !calledBySeed {
		return nil, errors.New("the configuration is invalid: webhooks.serviceName: Forbidden: " +
			"without Gardener, the API servers of shoots may not reach Services of the seed, and the seed's API server calls no webhook; set webhooks.url")
	}
	namespace := cmp.Or(settings.Namespace, pod.Namespace())
	if namespace == "" {
		return nil, errors.New("the configuration is invalid: webhooks.namespace: Required value: " +
			"the operator does not run in a pod, whose namespace it would use for the Secret with the certificates")
	}
	address := settings.URL
	if address == "" && mode == configv1alpha1.ModeGardener { // where the API servers of shoots run in the seed
		address = fmt.Sprintf("https://%s.%s:443", settings.ServiceName, namespace)
	}
	return webhook.Add(ctx, mgr, webhook.Options{
		Client: mgr.GetClient(), BindAddress: settings.BindAddress, Clock: o.Clock,
		URL: address, Service: settings.ServiceName, Namespace: namespace,
		Secret: cmp.Or(settings.SecretName, strings.TrimSuffix(o.Name, "-operator")+"-webhooks"),
	})
}

// controlPlaneConfiguration and networksConfiguration return the names of the configurations by
// which the seed's API server calls the operator's webhooks.
func (o *Options) controlPlaneConfiguration() string {
	return "gardener-extension-" + strings.TrimSuffix(o.Name, "-operator")
}

func (o *Options) networksConfiguration() string { return o.controlPlaneConfiguration() + "-networks" }

// While a configuration is there whose webhooks the operator does not serve any longer, API servers call what
// nothing serves.
//
// +kubebuilder:rbac:roleName=gardener/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=gardener-extension-trellis;gardener-extension-trellis-networks,verbs=get;delete
// +kubebuilder:rbac:roleName=standalone/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=gardener-extension-trellis;gardener-extension-trellis-networks,verbs=get;delete

// addRemover removes the configurations of webhooks that the operator's configuration does not ask
// for any longer.
func (o *Options) addRemover(mgr ctrl.Manager) error {
	var names []string
	if len(o.clouds()) == 0 {
		names = append(names, o.controlPlaneConfiguration())
	}
	if !o.Config.Webhooks.Networks {
		names = append(names, o.networksConfiguration())
	}
	return mgr.Add(&registration.Remover{
		Client: mgr.GetClient(), Names: names, Labels: labels.Set{shoot.OperatorLabel: o.Name}, Clock: o.Clock,
	})
}
