// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/cloudconfig"
	"github.com/trellis-network/trellis/internal/imagevector"
	"github.com/trellis-network/trellis/internal/loglimit"
	"github.com/trellis-network/trellis/internal/metrics"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/routes"
)

// Options are the parts and the settings of an operator.
type Options struct {
	// Name is the operator's name. Several operators beside each other need different
	// names, since the name is that of the leader's Lease, and part of the name of the
	// Secret with the webhooks' certificates, unless Config states others. Empty means
	// DefaultName.
	Name string
	// Plugins are the network plugins. Two of one type are an error.
	Plugins []plugin.Plugin
	// Providers are the infrastructures. Two of one type are an error. One that is a
	// ControllerProvider makes its infrastructure itself.
	Providers []plugin.Provider
	// PodRoutes are the infrastructures in whose route tables the operator can make routes. It makes
	// them on those that the configuration lists.
	PodRoutes []routes.Provider
	// Config is the operator's configuration; nil means the defaults.
	Config *configv1alpha1.OperatorConfiguration
	// Seed is the API server with the Networks.
	Seed *rest.Config
	// Log receives the log lines.
	Log logr.Logger
	// Clock is the source of the time in statuses; nil means the real one.
	Clock clock.WithTicker

	// gates are all feature gates, resolved once: those that the configuration does not
	// state have their defaults.
	gates map[string]bool
	// images replace others, by name.
	images map[string]string
	// fence is nil without leader election.
	fence *fence
}

// DefaultName is the name of the operator that is Trellis' own program.
const DefaultName = "trellis-operator"

// Each event is about a new version of its object, so that none is repeated, which would need patch.
//
// +kubebuilder:rbac:roleName=gardener/operator,groups=events.k8s.io,resources=events,verbs=create
// +kubebuilder:rbac:roleName=standalone/operator,groups=events.k8s.io,resources=events,verbs=create

// Run runs an operator until ctx ends. It returns an error if the operator could not start,
// or lost its leadership.
func Run(ctx context.Context, options Options) error {
	if err := options.complete(); err != nil {
		return err
	}
	ctrl.SetLogger(options.Log)
	log.SetFlags(0)
	log.SetOutput(loglimit.Standard(options.Log))
	built, err := pipeline.New(options.Plugins, options.Providers)
	if err != nil {
		return err
	}
	metrics.ServeTypes(built.Types()...)
	gates, errs := built.ResolveFeatureGates(field.NewPath("featureGates"), options.Config.FeatureGates)
	if len(errs) > 0 {
		return fmt.Errorf("the configuration is invalid: %w", errs.ToAggregate())
	}
	options.gates = gates
	options.images, err = imagevector.Resolve(built.ImageTags(), field.NewPath("images"), options.Config.Images)
	if err != nil {
		return err
	}
	mode, err := options.mode(ctx)
	if err != nil {
		return err
	}
	mgr, err := options.manager()
	if err != nil {
		return err
	}
	options.Log.Info("Starting", "mode", mode, "networks", built.Types(), "seed", options.Seed.Host)
	server, err := options.addWebhookServer(ctx, mgr, mode)
	if err != nil {
		return err
	}
	if err := options.addControllers(mgr, built, mode, server); err != nil {
		return err
	}
	if err := options.addControlPlane(ctx, mgr, server); err != nil {
		return err
	}
	if err := options.addNetworkWebhooks(mgr, built, server); err != nil {
		return err
	}
	if err := options.addRemover(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (o *Options) complete() error {
	if o.Seed == nil {
		return errors.New("operator.Options.Seed is required: the API server with the Networks")
	}
	if o.Config == nil {
		config, err := configv1alpha1.Load(nil)
		if err != nil {
			return err
		}
		o.Config = config
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Log = loglimit.Limit(o.Log, clock.RealClock{})
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Seed = rest.CopyConfig(o.Seed)
	o.Seed.QPS, o.Seed.Burst = o.Config.ClientConnection.QPS, o.Config.ClientConnection.Burst
	o.Seed.UserAgent = o.Name
	// The API server warns about finalizers that Gardener's contract prescribes.
	o.Seed.WarningHandler = rest.NoWarnings{}
	return nil
}

// managerOptions returns the manager's settings but for the election of a leader.
func (o *Options) managerOptions() manager.Options {
	cached := seedclient.CacheOptions()
	if len(o.clouds()) > 0 {
		cached.ByObject = cloudconfig.Watched()
	}
	return manager.Options{
		Scheme:                 seedclient.Scheme(),
		Logger:                 o.Log,
		Metrics:                metricsserver.Options{BindAddress: o.Config.Metrics.BindAddress, ExtraHandlers: o.profiles()},
		HealthProbeBindAddress: o.Config.HealthProbes.BindAddress,
		Client:                 seedclient.Options(),
		Cache:                  cached,
		// Tests run several operators in one process. Controllers whose own time limits are
		// shorter report why they did not get further.
		Controller: config.Controller{
			SkipNameValidation:    new(true),
			ReconciliationTimeout: o.Config.Controllers.Network.ReconciliationTimeout.Duration + time.Minute,
		},
	}
}

func (o *Options) manager() (ctrl.Manager, error) {
	settings := o.managerOptions()
	if err := o.elect(&settings); err != nil {
		return nil, err
	}
	if settings.LeaderElection {
		o.fence = newFence(&settings)
		o.fence.around(o.Seed)
	}
	mgr, err := ctrl.NewManager(o.Seed, settings)
	if err != nil {
		return nil, fmt.Errorf("connect to the seed %s: %w", o.Seed.Host, err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("caches", func(*http.Request) error { return cachesSynced(mgr) })
}
