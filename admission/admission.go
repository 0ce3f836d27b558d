// SPDX-License-Identifier: Apache-2.0

// Package admission runs the webhooks that admit Shoots into a garden. The author of an operator
// with other plugins calls Run to get an admission for them.
package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trellis-network/trellis/internal/loglimit"
	"github.com/trellis-network/trellis/internal/webhook"
	"github.com/trellis-network/trellis/internal/webhook/registration"
	"github.com/trellis-network/trellis/internal/webhook/shootadmission"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Options are the parts and the settings of an admission.
type Options struct {
	// Name is that of the webhook configurations in the garden, and of the Secret with the
	// certificates. Admissions beside each other need different names. Empty means
	// DefaultName.
	Name string
	// Plugins are the network plugins. Two of one type are an error.
	Plugins []plugin.Plugin
	// Providers are the infrastructures. Two of one type are an error.
	Providers []plugin.Provider
	// FeatureGates are those that the configuration of the operators in the seeds states, since
	// some decide on warnings and on what a change does. A gate that no plugin has is an error.
	FeatureGates map[string]bool
	// Garden is the API server with the Shoots.
	Garden *rest.Config
	// Runtime is the API server of the cluster with the Secret; nil means Garden.
	Runtime *rest.Config
	// Namespace is that of the Secret and of the Service.
	Namespace string
	// Service is the name of the Service by which the garden's API server reaches the
	// webhooks. URL is their address where the garden is another cluster, such as
	// https://trellis-admission.garden:443. One of both is required.
	Service, URL string
	// Standalone reports that the garden is without Gardener, so that Shoots have no labels
	// with the type of their network, and describe clusters that exist.
	Standalone bool
	// BindAddress is the host:port of the webhooks.
	BindAddress string
	// MetricsBindAddress and HealthProbeBindAddress are those of metrics and health; "0"
	// serves none.
	MetricsBindAddress, HealthProbeBindAddress string
	// Log receives the log lines.
	Log logr.Logger
	// Clock is the source of time; nil means the real one.
	Clock clock.WithTicker
}

// DefaultName is the name of the admission that is Trellis' own program.
const DefaultName = "trellis-admission"

// RBAC cannot restrict create to names. An admission with another name needs roles with that name.
//
// +kubebuilder:rbac:roleName=admission/garden,groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,verbs=create
// +kubebuilder:rbac:roleName=admission/garden,groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,resourceNames=trellis-admission,verbs=get;update
// +kubebuilder:rbac:roleName=admission/namespace,groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:roleName=admission/namespace,groups="",resources=secrets,resourceNames=trellis-admission,verbs=get;patch

// Run serves the webhooks and keeps their configurations until ctx ends. It returns an error if
// it could not start. Any number of replicas can run: they share the certificates in the Secret.
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
	gates, errs := built.ResolveFeatureGates(field.NewPath("featureGates"), options.FeatureGates)
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	garden, runtimeCluster, err := options.clients()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(options.Runtime, manager.Options{
		Scheme:                 clientgoscheme.Scheme,
		Logger:                 options.Log,
		Metrics:                metricsserver.Options{BindAddress: options.MetricsBindAddress},
		HealthProbeBindAddress: options.HealthProbeBindAddress,
	})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", options.Runtime.Host, err)
	}
	server, err := webhook.Add(ctx, mgr, webhook.Options{
		Client: runtimeCluster, BindAddress: options.BindAddress, Namespace: options.Namespace, Secret: options.Name,
		URL: options.URL, Service: options.Service, Clock: options.Clock,
	})
	if err != nil {
		return err
	}
	env := plugin.Environment{FeatureGates: gates}
	if options.Standalone {
		env.PodAccess = &plugin.PodAccess{} // nothing is rendered that needs the address
	}
	shootadmission.Add(server, built, env)
	options.Log.Info("Starting", "networks", built.Types(), "garden", options.Garden.Host, "runtime", options.Runtime.Host)
	err = errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.Add(&registration.Keeper{Client: garden, Server: server, Clock: options.Clock, Wanted: func() []client.Object {
			return shootadmission.Configurations(options.Name, options.selection(), server, built)
		}}))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (o *Options) complete() error {
	switch {
	case o.Garden == nil:
		return errors.New("admission.Options.Garden is required: the API server with the Shoots")
	case o.Namespace == "":
		return errors.New("the namespace of the Secret with the certificates is required, since trellis-admission does not run in a pod, whose namespace it would use")
	case (o.URL == "") == (o.Service == ""):
		return errors.New("either a Service or a URL is required, by which the garden's API server reaches the webhooks")
	}
	o.Name = cmp.Or(o.Name, DefaultName)
	o.Runtime = cmp.Or(o.Runtime, o.Garden)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Log = loglimit.Limit(o.Log, clock.RealClock{})
	return nil
}

// clients returns clients without caches: the program reads two objects a minute.
func (o *Options) clients() (garden, runtimeCluster client.Client, err error) {
	if garden, err = client.New(o.Garden, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, nil, fmt.Errorf("connect to the garden %s: %w", o.Garden.Host, err)
	}
	if runtimeCluster, err = client.New(o.Runtime, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", o.Runtime.Host, err)
	}
	return garden, runtimeCluster, nil
}

func (o *Options) selection() shootadmission.Selection {
	if o.Standalone {
		return shootadmission.ByType
	}
	return shootadmission.ByLabel
}
