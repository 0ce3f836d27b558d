// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/controller/route"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/controller/unanswered"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/internal/webhook/mutation"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// addControllers adds the controllers of the mode. If there is a webhook server, the controllers
// write the addresses of the plugins' webhooks into shoots.
func (o *Options) addControllers(mgr ctrl.Manager, built *pipeline.Pipeline, mode configv1alpha1.Mode, server *webhook.Server) error {
	var webhooks *mutation.Webhooks
	if server != nil {
		webhooks = mutation.Add(server, built)
	}
	settings := &o.Config.Controllers
	access := o.access(mode)
	access.Metadata, access.Secrets = mgr.GetCache(), mgr.GetAPIReader()
	shoots := shootclient.New(access)
	if err := mgr.Add(shoots); err != nil {
		return err
	}
	standalone := mode == configv1alpha1.ModeStandalone
	serves := func(networkType string) bool { return slices.Contains(built.Types(), networkType) }
	trigger := network.TriggerOperation
	if standalone || settings.Network.IgnoreOperationAnnotation {
		trigger = network.TriggerGeneration
	}
	policy, err := o.rollout(built)
	if err != nil {
		return err
	}
	labelled, byType := o.others(mgr.GetClient(), mode, serves)
	board := &route.Board{Off: len(o.Config.PodRoutes) == 0}
	if err := o.addPodRoutes(mgr, shoots, board, route.Options{Standalone: standalone, Serves: serves, IsOthers: labelled}); err != nil {
		return err
	}
	err = errors.Join(
		unanswered.Add(mgr, unanswered.Options{Operator: o.Name, Types: built.Types(), Standalone: standalone, Clock: o.Clock}),
		network.Add(mgr, network.Options{
			Operator: o.Name, IsOthers: labelled,
			Pipeline: built, Trigger: trigger, Standalone: standalone, Clock: o.Clock, Shoots: shoots,
			FeatureGates: o.gates, Images: o.images, DumpRequests: o.Config.DumpRequests, Probe: probeOf(o.Config),
			Webhook: webhooks.ForShoots, WebhookChanged: server.Changed(),
			Rollout: policy,

			Timeout:                 settings.Network.ReconciliationTimeout.Duration,
			MaxConcurrentReconciles: settings.Network.ConcurrentSyncs,
		}),
		networkstatus.Add(mgr, networkstatus.Options{
			Clients: shoots, Serves: serves, IsOthers: labelled, Clock: o.Clock, Period: settings.Health.SyncPeriod.Duration,
			ProgressingThreshold:    settings.Health.ProgressingThreshold.Duration,
			MaxConcurrentReconciles: settings.Health.ConcurrentSyncs,
			Further:                 []source.Registration{board.Registration()},
		}),
	)
	if err != nil {
		return err
	}
	if !standalone {
		return o.addHeartbeat(mgr)
	}
	inSeed, err := shootclient.NewSeed(mgr.GetConfig(), mgr.GetHTTPClient(), shootclient.Options{})
	if err != nil {
		return err
	}
	return errors.Join(
		mgr.Add(inSeed),
		shoot.Add(mgr, shoot.Options{
			Operator: o.Name, Serves: serves, Clock: o.Clock, MaxConcurrentReconciles: settings.Shoot.ConcurrentSyncs,
			Infrastructures: o.Config.Infrastructures,
		}),
		o.addProviders(mgr),
		managedresource.Add(mgr, managedresource.Options{
			Shoots: shoots, IsOthers: byType, Clock: o.Clock, SyncPeriod: settings.ManagedResource.SyncPeriod.Duration,
			MaxConcurrentReconciles: settings.ManagedResource.ConcurrentSyncs,
		}),
		managedresource.Add(mgr, managedresource.Options{
			Shoots: inSeed, Class: "seed", Confined: true, IsOthers: byType, Clock: o.Clock, SyncPeriod: settings.ManagedResource.SyncPeriod.Duration,
			MaxConcurrentReconciles: settings.ManagedResource.ConcurrentSyncs,
		}),
	)
}

// access returns the settings of the access to shoots, without its readers.
func (o *Options) access(mode configv1alpha1.Mode) shootclient.Options {
	settings := &o.Config.Controllers
	access := shootclient.Options{
		SecretNames: accessSecrets(mode),
		QPS:         o.Config.ShootClientConnection.QPS,
		Burst:       o.Config.ShootClientConnection.Burst,
		// Each shoot is asked for at least once in each period.
		IdleTimeout: max(10*time.Minute, 2*settings.Health.SyncPeriod.Duration, 2*settings.ManagedResource.SyncPeriod.Duration),
		Clock:       o.Clock,

		RefuseAddress: shootclient.NeverClusters(o.Config.ShootClientConnection.AllowedAddresses...),
	}
	if o.fence != nil {
		access.WrapTransport = func(_ string, next http.RoundTripper) http.RoundTripper { return o.fence.wrap(next) }
	}
	return access
}

// cachesSynced returns an error until the manager's caches are filled. It waits for a
// second at most.
func cachesSynced(mgr ctrl.Manager) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the caches are not filled yet")
	}
	return nil
}

// probeOf returns the settings of the probe, nil if the operator's configuration disables it.
func probeOf(config *configv1alpha1.OperatorConfiguration) *plugin.Probe {
	if config.ConnectivityProbe.Disabled {
		return nil
	}
	return &plugin.Probe{OutsideTarget: config.ConnectivityProbe.OutsideTarget}
}
