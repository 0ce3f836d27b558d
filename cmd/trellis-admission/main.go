// SPDX-License-Identifier: Apache-2.0

// Command trellis-admission admits Shoots into a garden.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/trellis-network/trellis/admission"
	"github.com/trellis-network/trellis/internal/pod"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

func main() {
	err := command().ExecuteContext(ctrl.SetupSignalHandler())
	if errors.As(err, new(misuse)) {
		fmt.Fprintln(os.Stderr, "See trellis-admission --help.")
		os.Exit(2)
	}
	if err != nil {
		os.Exit(1)
	}
}

// misuse is an error in the flags or arguments.
type misuse struct{ error }

func command() *cobra.Command {
	options := admission.Options{Plugins: plugins.All(), Providers: providers.All()}
	var gardenFile, runtimeFile, mode string
	logging := zap.Options{}
	cmd := &cobra.Command{
		Use:   "trellis-admission",
		Short: "Stop networks that cannot work when a Shoot is created or updated",
		Long: `trellis-admission validates Shoots of Trellis' networking types, and states in them what
their networks want to be stated there. It registers its webhooks in the garden, the
cluster with the Shoots, and keeps its certificates in a Secret of the cluster in which
it runs.

Exit status: 0 after a signal; 1 if it could not start; 2 if it was called with wrong
flags or arguments.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse{fmt.Errorf("trellis-admission takes no arguments, only flags; got %q", args)}
			}
			return nil
		},
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			switch mode {
			case "gardener", "standalone":
				options.Standalone = mode == "standalone"
			default:
				return misuse{fmt.Errorf("--mode is %q; it must be gardener or standalone", mode)}
			}
			if options.Garden, options.Runtime, err = clusters(gardenFile, runtimeFile); err != nil {
				return err
			}
			options.Log = zap.New(zap.UseFlagOptions(&logging))
			return admission.Run(cmd.Context(), options)
		},
	}
	gates := ""
	for _, each := range options.Plugins {
		for _, gate := range each.FeatureGates {
			gates += fmt.Sprintf("\n  %s", gate)
		}
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse{err} })
	flags := cmd.Flags()
	flags.StringVar(&gardenFile, "kubeconfig", os.Getenv("GARDEN_KUBECONFIG"), "`FILE` with the kubeconfig of the garden; without it, the garden is the cluster in\nwhich trellis-admission runs. $GARDEN_KUBECONFIG sets the default")
	flags.StringVar(&runtimeFile, "runtime-kubeconfig", "", "`FILE` with the kubeconfig of the cluster for the Secret with the certificates; without\nit, the cluster in which trellis-admission runs, if its pod has a token, or else the garden")
	flags.StringVar(&mode, "mode", "gardener", "`MODE` of the garden: gardener or standalone. Gardener labels Shoots with their\nnetworking type, by which they are selected")
	flags.StringVar(&options.Name, "name", admission.DefaultName, "`NAME` of the webhook configurations and of the Secret")
	flags.StringVar(&options.Namespace, "namespace", pod.Namespace(), "`NAMESPACE` of the Secret and of the Service; in a pod its own by default")
	flags.StringVar(&options.Service, "service", "", "`NAME` of the Service by which the garden's API server reaches the webhooks, at port 443")
	flags.StringVar(&options.URL, "url", "", "`URL` by which the garden's API server reaches the webhooks, if it is in another cluster")
	flags.Var(cliflag.NewMapStringBool(&options.FeatureGates), "feature-gates", "feature gates of the operators in the seeds, as `A=true,B=false`; some decide on warnings:"+gates)
	flags.StringVar(&options.BindAddress, "bind-address", ":10250", "`ADDRESS` of the webhooks")
	flags.StringVar(&options.MetricsBindAddress, "metrics-bind-address", ":8080", "`ADDRESS` of the metrics, 0 for none")
	flags.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "`ADDRESS` of /healthz and /readyz, 0 for none")
	cmd.MarkFlagsMutuallyExclusive("service", "url")
	cmd.MarkFlagsOneRequired("service", "url")
	logFlags := flag.NewFlagSet("", flag.ContinueOnError)
	logging.BindFlags(logFlags)
	flags.AddGoFlagSet(logFlags)
	return cmd
}

// clusters returns how to connect to the garden and to the cluster with the Secret.
func clusters(gardenFile, runtimeFile string) (garden, runtimeCluster *rest.Config, err error) {
	own, ownErr := rest.InClusterConfig()
	if garden = own; gardenFile != "" {
		if garden, err = clientcmd.BuildConfigFromFlags("", gardenFile); err != nil {
			return nil, nil, fmt.Errorf("read the kubeconfig of the garden: %w", err)
		}
	} else if ownErr != nil {
		return nil, nil, fmt.Errorf("find the garden, since there is no --kubeconfig: %w", ownErr)
	}
	if runtimeFile == "" {
		return garden, cmp.Or(own, garden), nil
	}
	runtimeCluster, err = clientcmd.BuildConfigFromFlags("", runtimeFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read the kubeconfig of the runtime cluster: %w", err)
	}
	return garden, runtimeCluster, nil
}
