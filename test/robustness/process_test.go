// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/cloudconfig"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers/local"
)

const (
	// syncPeriod is the time after which controllers reconcile again without an event.
	syncPeriod = 2 * time.Second
	// deletionInterval is the time after which they check objects that are being deleted.
	deletionInterval = 200 * time.Millisecond
	// forEver is longer than a run: no kubelet runs the agents, so they never become healthy.
	forEver = 24 * time.Hour
)

// process simulates a process of the operator. API servers cannot tell the difference.
type process struct {
	*transport
	world *world
	ended chan struct{}
	once  sync.Once
}

// start starts a process of the operator.
func (w *world) start(d disturbance) *process {
	w.t.Helper()
	w.processes++
	ctx, cancel := context.WithCancel(w.ctx)
	p := &process{world: w, ended: make(chan struct{}), transport: &transport{
		disturbance: d, world: w, process: w.processes, cancel: cancel,
		died: make(chan struct{}), cured: map[string]int{}, begun: time.Now(),
	}}
	mgr := w.operator(p.transport)
	go func() {
		defer close(p.ended)
		if err := mgr.Start(ctx); err != nil && !p.isDead() {
			w.t.Errorf("process %d ended with %v", p.process, err)
		}
	}()
	w.t.Cleanup(p.stop)
	return p
}

// stop ends the process as SIGTERM would, and waits for its end.
func (p *process) stop() {
	p.once.Do(func() {
		p.cancel()
		<-p.ended
		ran.faults.Add(int32(p.faults))
	})
}

// hasDied reports whether the process was killed.
func (p *process) hasDied() bool {
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// operator sets up the controllers as operator.Run does, for the namespace of one run.
func (w *world) operator(t *transport) ctrl.Manager {
	w.t.Helper()
	config := rest.CopyConfig(w.api.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return t.of(inSeed, next) })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:     seedclient.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace(): {}}, ByObject: w.cached()},
		Client:     seedclient.Options(),
	})
	w.Expect(err).NotTo(HaveOccurred())
	options := shootclient.Options{
		Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
		ManagedBy: w.run, QPS: 1000, Burst: 1000, RetryAfter: 200 * time.Millisecond,
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return t.of(inShoot, next) },
	}
	shoots := shootclient.New(options)
	w.Expect(mgr.Add(shoots)).To(Succeed())
	there, err := shootclient.NewSeed(mgr.GetConfig(), mgr.GetHTTPClient(), shootclient.Options{ManagedBy: w.run})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(mgr.Add(there)).To(Succeed())

	plugins := w.plugins
	if len(plugins) == 0 {
		plugins = []plugin.Plugin{plugin.New(examplePlugin{})}
	}
	var providers []plugin.Provider
	if w.ofShoot {
		providers = []plugin.Provider{local.Provider}
	}
	built, err := pipeline.New(plugins, providers)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(network.Add(mgr, network.Options{
		Pipeline: built, Trigger: w.trigger, Standalone: w.trigger == network.TriggerGeneration, Shoots: shoots,
		MaxConcurrentReconciles: 2, Clock: clock.RealClock{},
	})).To(Succeed())
	w.Expect(networkstatus.Add(mgr, networkstatus.Options{
		Clients: shoots, Clock: clock.RealClock{}, Period: syncPeriod, ProgressingThreshold: forEver, MaxConcurrentReconciles: 5,
	})).To(Succeed())
	if w.ofShoot {
		w.addFlow(mgr)
		return mgr
	}
	w.Expect(managedresource.Add(mgr, managedresource.Options{
		Shoots: shoots, ManagedBy: w.run, SyncPeriod: syncPeriod, DeletionInterval: deletionInterval,
	})).To(Succeed())
	w.Expect(managedresource.Add(mgr, managedresource.Options{
		Shoots: there, Class: "seed", Confined: true, ManagedBy: w.run, SyncPeriod: syncPeriod, DeletionInterval: deletionInterval,
	})).To(Succeed())
	return mgr
}

// cached restricts caches to the objects of one run.
func (w *world) cached() map[client.Object]cache.ByObject {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	cached := map[client.Object]cache.ByObject{&extensionsv1alpha1.Cluster{}: {Field: named(w.namespace())}}
	if w.ofShoot {
		maps.Copy(cached, cloudconfig.Watched())
		cached[&corev1.Namespace{}] = cache.ByObject{Field: named(w.namespace())}
		cached[&corev1beta1.Shoot{}] = cache.ByObject{Namespaces: map[string]cache.Config{project: {FieldSelector: named(w.run)}}}
		cached[&corev1.Secret{}] = cache.ByObject{Namespaces: map[string]cache.Config{
			project: {FieldSelector: named(w.run + ".kubeconfig")}, w.namespace(): {},
		}}
	}
	return cached
}
