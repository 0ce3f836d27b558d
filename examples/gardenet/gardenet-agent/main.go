// SPDX-License-Identifier: Apache-2.0

// Command gardenet-agent is what gardenet runs on each node. It installs the CNI plugins and their
// configuration, masquerades what leaves the pods' range, and keeps routes to the pods of the other
// nodes in its subnet. What it has made in the kernel stays when it ends, so that packets go on.
package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// period is how often the agent looks at what others may have changed.
	period = 10 * time.Second
	// patience is how long the agent may fail until it ends, so that its pod shows it.
	patience = time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := settingsFrom(os.Getenv)
	if err != nil {
		return err
	}
	log.Printf("gardenet on %s: %s, with %s", s.node, s.pods, os.Getenv("GARDENET_FIELD"))
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	nodes, changed, err := watch(ctx, client.RESTClient())
	if err != nil {
		return err
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for well := time.Now(); ; {
		if err := s.reconcile(ctx, nodes); err == nil {
			well = time.Now()
		} else if log.Print(err); time.Since(well) > patience {
			return fmt.Errorf("nothing has helped for %s", patience)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// watch returns a cache of all nodes, and a channel that receives a value after a change.
func watch(ctx context.Context, client rest.Interface) (cache.Store, <-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // one is waiting
		}
	}
	nodes, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client, "nodes", "", fields.Everything()), ObjectType: &corev1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, DeleteFunc: func(any) { tell() },
			UpdateFunc: func(before, after any) {
				if one, two := before.(*corev1.Node), after.(*corev1.Node); one.Spec.PodCIDR != two.Spec.PodCIDR || addressOf(one) != addressOf(two) {
					tell()
				}
			},
		},
	})
	go informer.RunWithContext(ctx)
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return nodes, changed, ctx.Err()
}

// reconcile brings the node in line with the nodes that there are. The CNI configuration comes last:
// once it is there, the kubelet starts pods.
func (s *settings) reconcile(ctx context.Context, nodes cache.Store) error {
	own, others, err := s.plan(nodes.List())
	if err != nil {
		return err
	}
	if err := setRoutes(others); err != nil {
		return err
	}
	if err := masquerade(ctx, s.ipam); err != nil {
		return err
	}
	if err := installPlugins(); err != nil {
		return err
	}
	return writeConfig(own)
}

// settings are those of the agent, from its environment.
type settings struct {
	// node is the name of the agent's node.
	node string
	// pods is the range of all nodes' spec.podCIDR, and ipam the one that pods get addresses of.
	pods, ipam netip.Prefix
}

func settingsFrom(environment func(string) string) (*settings, error) {
	s := &settings{node: environment("NODE_NAME")}
	if s.node == "" {
		return nil, fmt.Errorf("NODE_NAME must be the name of the node")
	}
	var err error
	if s.pods, err = netip.ParsePrefix(environment("GARDENET_POD_CIDR")); err != nil {
		return nil, fmt.Errorf("GARDENET_POD_CIDR: %w", err)
	}
	if s.ipam = s.pods; environment("GARDENET_IPAM_CIDR") != "usePodCIDR" {
		if s.ipam, err = netip.ParsePrefix(environment("GARDENET_IPAM_CIDR")); err != nil {
			return nil, fmt.Errorf("GARDENET_IPAM_CIDR: %w", err)
		}
	}
	return s, nil
}
