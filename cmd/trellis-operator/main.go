// SPDX-License-Identifier: Apache-2.0

// Command trellis-operator runs Trellis in a seed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	awsroutes "github.com/trellis-network/trellis/providers/aws/routes"
	"github.com/trellis-network/trellis/providers/routes"
)

func main() {
	err := command().ExecuteContext(ctrl.SetupSignalHandler())
	if errors.As(err, new(misuse)) {
		fmt.Fprintln(os.Stderr, "See trellis-operator --help.")
		os.Exit(2)
	}
	if err != nil {
		os.Exit(1)
	}
}

// misuse is an error in the flags or arguments.
type misuse struct{ error }

func command() *cobra.Command {
	var configFile string
	logging := zap.Options{}
	cmd := &cobra.Command{
		Use:   "trellis-operator",
		Short: "Give every cluster of a seed its pod network",
		Long: `trellis-operator reconciles the Networks of a seed.

It connects to the seed of --kubeconfig, of $KUBECONFIG, or in which it runs.

Exit status: 0 after a signal; 1 if it could not start, or lost the leader's Lease
or its connection; 2 if it was called with wrong flags or arguments.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse{fmt.Errorf("trellis-operator takes no arguments, only flags; got %q", args)}
			}
			return nil
		},
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := load(configFile)
			if err != nil {
				return err
			}
			seed, err := config.GetConfig()
			if err != nil {
				return fmt.Errorf("find the seed: %w", err)
			}
			return operator.Run(cmd.Context(), operator.Options{
				Plugins:   plugins.All(),
				Providers: providers.All(),
				PodRoutes: []routes.Provider{awsroutes.Provider{}},
				Config:    settings,
				Seed:      seed,
				Log:       zap.New(zap.UseFlagOptions(&logging)),
			})
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misuse{explainFlag(err)} })
	cmd.Flags().StringVar(&configFile, "config", "", "file with an OperatorConfiguration of "+configv1alpha1.GroupVersion.String())
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(flags)
	logging.BindFlags(flags)
	cmd.Flags().AddGoFlagSet(flags)
	return cmd
}

func load(file string) (*configv1alpha1.OperatorConfiguration, error) {
	if file == "" {
		return configv1alpha1.Load(nil)
	}
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	settings, err := configv1alpha1.Load(document)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return settings, nil
}
