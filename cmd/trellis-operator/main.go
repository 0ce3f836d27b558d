// SPDX-License-Identifier: Apache-2.0

// Command trellis-operator runs Trellis in a seed.
package main

import (
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
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var configFile string
	logging := zap.Options{}
	cmd := &cobra.Command{
		Use:   "trellis-operator",
		Short: "Give every cluster of a seed its pod network",
		Long: `trellis-operator carries out the Networks of a seed.

The seed is the one of --kubeconfig, of $KUBECONFIG, or the one it runs in.`,
		Args:         cobra.NoArgs,
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
				Config:    settings,
				Seed:      seed,
				Log:       zap.New(zap.UseFlagOptions(&logging)),
			})
		},
	}
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
