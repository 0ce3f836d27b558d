// SPDX-License-Identifier: Apache-2.0

// Package standalone is Trellis as a user without Gardener has it: a sandbox whose seed has the
// CRDs, the policies and an operator with its least rights, and Shoots that their owners apply,
// edit and look at. It is for the tests with real nodes and for `make demo`. Its functions return
// errors; tests expect none.
package standalone

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// User is the operator's user name in the seed. The sandbox of a Landscape must have it among its
// users.
const User = "trellis-operator"

// Configuration is the content of the operator's configuration file. It turns off the operator's
// ports, which other programs may use, lets the shoots be on this machine, and has components that
// stay unhealthy reported after a minute.
const Configuration = `apiVersion: config.trellis.network/v1alpha1
kind: OperatorConfiguration
mode: Standalone
metrics: {bindAddress: "0"}
healthProbes: {bindAddress: "0"}
shootClientConnection: {allowedAddresses: [127.0.0.0/8]}
controllers: {health: {progressingThreshold: 1m}}
`

// Landscape is a sandbox in which an operator can run.
type Landscape struct {
	*sandbox.Sandbox
	// Seed is an administrator's client of the seed, which is the garden, too.
	Seed *harness.Cluster
}

// Install creates Trellis' CRDs and policies in the sandbox's seed, and gives User the rights of
// config/rbac/standalone and no others.
func Install(ctx context.Context, box *sandbox.Sandbox) (*Landscape, error) {
	seed, err := harness.Connect(box.Seed.Kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := install.CRDs(ctx, seed); err != nil {
		return nil, err
	}
	if err := install.Policies(ctx, seed); err != nil {
		return nil, err
	}
	return &Landscape{Sandbox: box, Seed: seed}, install.Rights(ctx, seed, configv1alpha1.ModeStandalone, User, "default")
}

// Operate runs the operator in this process, as User with the Configuration as the edits leave it.
// stop ends the operator and returns the error with which it ended.
func (l *Landscape) Operate(log logr.Logger, edits ...func(*configv1alpha1.OperatorConfiguration)) (stop func() error, err error) {
	return l.OperateWith(plugins.All(), log, edits...)
}

// OperateWith is Operate with other plugins than Trellis' own.
func (l *Landscape) OperateWith(all []plugin.Plugin, log logr.Logger, edits ...func(*configv1alpha1.OperatorConfiguration)) (stop func() error, err error) {
	api, err := clientcmd.BuildConfigFromFlags("", l.Sandbox.Seed.Users[User])
	if err != nil {
		return nil, err
	}
	config, err := configv1alpha1.Load([]byte(Configuration))
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		edit(config)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Plugins: all, Providers: providers.All(), Config: config, Seed: api, Log: log,
		})
	}()
	return func() error { cancel(); return <-ended }, nil
}

// Shoot returns the shoot with this index in the sandbox.
func (l *Landscape) Shoot(index int) (*Shoot, error) {
	of := l.Shoots[index]
	cluster, err := harness.Connect(of.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return &Shoot{Cluster: cluster, landscape: l, of: of}, connectivityv1alpha1.AddToScheme(cluster.Scheme())
}
