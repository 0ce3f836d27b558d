// SPDX-License-Identifier: Apache-2.0

// Package component has the programs that this binary contains: called by the
// name of a component, the binary runs as that component. Only this package
// imports the components, and with them most of Kubernetes.
package component

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the components' JSON logs
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the components' metrics
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/trellis-network/trellis/sandbox/internal/nodes"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/gateway"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/manager"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/node"
)

var programs = map[string]func() int{
	"etcd":                    etcd,
	"kube-apiserver":          kubernetes(apiserver.NewAPIServerCommand),
	"kube-controller-manager": kubernetes(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          kubernetes(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"nodes":                   untilStopped(nodes.NewCommand),
	"gateway":                 untilStopped(gateway.NewCommand),
	"real-nodes":              untilStopped(manager.NewCommand),
	manager.Node:              enterCgroups(node.Init),
	node.Init:                 realNode(node.Run),
	manager.Trial:             func() int { return status(manager.Try(os.Args[1:])) },
	manager.TrialNode:         enterCgroups(node.TrialInit),
	node.TrialInit:            realNode(node.Try),
}

// Named returns the component of this name. It reads its flags from os.Args and
// returns the exit status.
func Named(name string) (run func() int, found bool) {
	run, found = programs[name]
	return run, found
}

// Kubectl runs kubectl and returns its exit status. It reads os.Args, whose first
// element must be kubectl's own name.
func Kubectl() int { return cli.Run(kubectl.NewDefaultKubectlCommand()) }

func kubernetes(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// untilStopped is a program of our own. Its context ends with a signal.
func untilStopped(command func(context.Context) *cobra.Command) func() int {
	return func() int {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		return cli.Run(command(ctx))
	}
}

// enterCgroups is the first program of a real node, which becomes the component next.
func enterCgroups(next string) func() int {
	return func() int { return status(node.EnterCgroups(next, os.Args[1:])) }
}

// realNode is a program of a real node. Its context ends with a signal.
func realNode(run func(context.Context, []string) error) func() int {
	return func() int {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		return status(run(ctx, os.Args[1:]))
	}
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
