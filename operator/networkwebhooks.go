// SPDX-License-Identifier: Apache-2.0

package operator

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/internal/webhook/networks"
	"github.com/trellis-network/trellis/internal/webhook/registration"
	"github.com/trellis-network/trellis/pipeline"
)

// RBAC cannot restrict create to names. An operator with another name needs a role with the name of its
// configuration.
//
// +kubebuilder:rbac:roleName=networks/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,verbs=create
// +kubebuilder:rbac:roleName=networks/operator,groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=gardener-extension-trellis-networks,verbs=get;update

// addNetworkWebhooks adds the webhooks that change Networks, and keeps their configuration, if the
// operator's configuration asks for them.
func (o *Options) addNetworkWebhooks(mgr ctrl.Manager, built *pipeline.Pipeline, server *webhook.Server) error {
	if !o.Config.Webhooks.Networks {
		return nil
	}
	all, err := networks.All(built)
	if err != nil {
		return err
	}
	for i := range all {
		server.Handle(all[i].Path(), all[i].Handler())
	}
	wanted := func() []client.Object {
		config := networks.Configuration(o.networksConfiguration(), all, server.ClientConfig)
		config.Labels[shoot.OperatorLabel] = o.Name
		return []client.Object{config}
	}
	return mgr.Add(&registration.Keeper{Client: mgr.GetClient(), Server: server, Wanted: wanted, Leader: true, Clock: o.Clock})
}
