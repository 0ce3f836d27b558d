// SPDX-License-Identifier: Apache-2.0

// Package nodes simulates the kubelets of a cluster with kwok: nodes become and
// stay Ready, and pods bound to them run, complete and are removed, without any
// container.
package nodes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
)

// leaseSeconds is the duration of a node's lease, the same as for kubelets. kwok
// renews a lease after a quarter of it.
const leaseSeconds = 40

// parallelism bounds how many objects of a kind kwok updates at once.
const parallelism = 16

// NewCommand returns the program that simulates all kubelets of a cluster until
// ctx ends.
func NewCommand(ctx context.Context) *cobra.Command {
	var kubeconfig, podCIDR string
	cmd := &cobra.Command{
		Use:          "nodes",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return run(ctx, kubeconfig, podCIDR) },
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "credentials that may change every node, pod and lease")
	cmd.Flags().StringVar(&podCIDR, "pod-cidr", "", "range of the pods on a node that has no range of its own yet")
	return cmd
}

func run(ctx context.Context, kubeconfig, podCIDR string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	// The number of kwok's workers limits its requests.
	config.QPS = -1

	settings, err := settings(config, podCIDR)
	if err != nil {
		return err
	}
	controller, err := controllers.NewController(settings)
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func settings(config *rest.Config, podCIDR string) (controllers.Config, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return controllers.Config{}, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return controllers.Config{}, err
	}
	stages, err := stages()
	if err != nil {
		return controllers.Config{}, err
	}
	id, err := controllers.Identity()
	if err != nil {
		return controllers.Config{}, err
	}
	return controllers.Config{
		Clock:                     clock.RealClock{},
		ID:                        id,
		TypedClient:               typed,
		DynamicClient:             untyped,
		RESTClient:                typed.Discovery().RESTClient(),
		ManageAllNodes:            true,
		CIDR:                      podCIDR,
		LocalStages:               stages,
		NodeLeaseDurationSeconds:  leaseSeconds,
		NodeLeaseParallelism:      parallelism,
		NodePlayStageParallelism:  parallelism,
		PodPlayStageParallelism:   parallelism,
		PodsOnNodeSyncParallelism: parallelism,
	}, nil
}
