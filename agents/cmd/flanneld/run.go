// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/flannel-io/flannel/pkg/backend"
	_ "github.com/flannel-io/flannel/pkg/backend/hostgw" // registers host-gw
	_ "github.com/flannel-io/flannel/pkg/backend/vxlan"  // registers vxlan
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// reportPeriod is how often the daemon tries to report that the network is there.
	reportPeriod = 5 * time.Second
	// stopTimeout is how long the backend may take to stop. Nothing is lost with it: all its
	// work is in the kernel.
	stopTimeout = 3 * time.Second
)

// run runs the daemon until ctx ends, and then returns nil. An error before that is the reason
// why the daemon cannot start, or cannot go on.
func run(ctx context.Context, o *options) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := serveHealth(ctx, o, end); err != nil {
		return err
	}
	manager, err := kube.NewSubnetManager(ctx, o.kubeAPIURL, o.kubeconfig, o.annotationPrefix, o.netConf, o.setNodeNetworkUnavailable)
	if err != nil {
		return err
	}
	config, err := manager.GetNetworkConfig(ctx)
	if err != nil {
		return err
	}
	if err := checkBridgeFilter(config); err != nil {
		return err
	}
	external, err := externalInterface(ctx, o, manager, config)
	if err != nil {
		return err
	}
	var background sync.WaitGroup // flannel's packages take it, and these backends add nothing
	network, err := register(ctx, &background, config, manager, external)
	if err != nil {
		return err
	}
	if err := setRules(ctx, o, config, network.Lease()); err != nil {
		return err
	}
	leased := network.Lease()
	if err := manager.HandleSubnetFile(o.subnetFile, config, o.ipMasq, leased.Subnet, leased.IPv6Subnet, network.MTU()); err != nil {
		return fmt.Errorf("write the file for the CNI plugin: %w", err)
	}
	klog.Infof("wrote %s: pods of this node have addresses of %s %s and an MTU of %d", o.subnetFile, leased.Subnet, leased.IPv6Subnet, network.MTU())
	if err := watchDevices(ctx, config, end); err != nil {
		return err
	}
	go reportReady(ctx, manager, leased, &background)
	return serve(ctx, network)
}

// register makes what the backend needs on this node, and tells the other nodes in the
// annotations of this one.
func register(ctx context.Context, background *sync.WaitGroup, config *subnet.Config, manager subnet.Manager, external *backend.ExternalInterface) (backend.Network, error) {
	b, err := backend.NewManager(ctx, manager, external).GetBackend(config.BackendType)
	if err != nil {
		return nil, fmt.Errorf("backend %q (built in are vxlan and host-gw): %w", config.BackendType, err)
	}
	network, err := b.RegisterNetwork(ctx, background, config)
	if err != nil {
		return nil, fmt.Errorf("backend %s: %w", config.BackendType, err)
	}
	return network, nil
}

// serve keeps the routes to the other nodes until ctx ends.
func serve(ctx context.Context, network backend.Network) error {
	stopped := make(chan struct{})
	go func() {
		network.Run(ctx)
		close(stopped)
	}()
	select {
	case <-stopped:
		if ctx.Err() == nil {
			return errors.New("the backend stopped by itself")
		}
	case <-ctx.Done():
		select {
		case <-stopped:
		case <-time.After(stopTimeout):
			klog.Warning("the backend does not stop: it is left alone")
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// reportReady sets the node's condition NetworkUnavailable to false. It tries until it succeeds.
func reportReady(ctx context.Context, manager subnet.Manager, leased *lease.Lease, background *sync.WaitGroup) {
	_ = wait.PollUntilContextCancel(ctx, reportPeriod, true, func(ctx context.Context) (bool, error) {
		err := manager.CompleteLease(ctx, leased, background)
		if err != nil {
			klog.Errorf("report on the node that the network is there (again in %s): %v", reportPeriod, err)
		}
		return err == nil, nil
	})
}

// checkBridgeFilter makes sure that the rules of iptables see what pods of this node send each
// other. nftables needs it, too, but flannel does not demand it there.
func checkBridgeFilter(config *subnet.Config) error {
	if config.EnableNFTables {
		return nil
	}
	var errs []error
	for file, needed := range map[string]bool{"bridge-nf-call-iptables": config.EnableIPv4, "bridge-nf-call-ip6tables": config.EnableIPv6} {
		if _, err := os.Stat("/proc/sys/net/bridge/" + file); needed && err != nil {
			errs = append(errs, fmt.Errorf("the node's kernel lacks br_netfilter (load the module): %w", err))
		}
	}
	return errors.Join(errs...)
}
