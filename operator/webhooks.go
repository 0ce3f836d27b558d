// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/pod"
	"github.com/trellis-network/trellis/internal/webhook"
)

// addWebhookServer adds the webhook server if the configuration states how API servers reach it,
// and otherwise returns nil.
func (o *Options) addWebhookServer(ctx context.Context, mgr ctrl.Manager, mode configv1alpha1.Mode) (*webhook.Server, error) {
	settings := &o.Config.Webhooks
	if settings.BindAddress == "0" || settings.URL == "" && settings.ServiceName == "" {
		o.Log.Info("Webhooks are disabled: they need webhooks.url or webhooks.serviceName, and a webhooks.bindAddress other than 0")
		return nil, nil
	}
	if settings.URL == "" && mode != configv1alpha1.ModeGardener {
		return nil, errors.New("the configuration is invalid: webhooks.serviceName: Forbidden: " +
			"without Gardener, the API servers of shoots may not reach Services of the seed; set webhooks.url")
	}
	namespace := cmp.Or(settings.Namespace, pod.Namespace())
	if namespace == "" {
		return nil, errors.New("the configuration is invalid: webhooks.namespace: Required value: " +
			"the operator does not run in a pod, whose namespace it would use for the Secret with the certificates")
	}
	return webhook.Add(ctx, mgr, webhook.Options{
		Client: mgr.GetClient(), BindAddress: settings.BindAddress, Clock: o.Clock,
		URL:       cmp.Or(settings.URL, fmt.Sprintf("https://%s.%s:443", settings.ServiceName, namespace)),
		Namespace: namespace,
		Secret:    cmp.Or(settings.SecretName, strings.TrimSuffix(o.Name, "-operator")+"-webhooks"),
	})
}
