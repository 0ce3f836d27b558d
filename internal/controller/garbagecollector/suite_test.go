// SPDX-License-Identifier: Apache-2.0

package garbagecollector

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 1})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(landscape.Main(m))
}

// env is a control plane in the seed and a namespace of the same name in the
// shoot, with a collector that looks at them all the time.
type env struct {
	*WithT
	ctx         context.Context
	namespace   string
	seed, shoot client.Client
	clock       *hurrying

	mu     sync.Mutex
	passes map[string]int
	refuse string
}

var (
	numbers    atomic.Int32
	installing sync.Once
)

func newEnv(t *testing.T) *env {
	t.Helper()
	running := landscape.Get(t)
	e := &env{
		WithT: NewWithT(t), ctx: t.Context(), namespace: fmt.Sprintf("shoot--test--%d", numbers.Add(1)),
		clock: &hurrying{FakePassiveClock: testclock.NewFakePassiveClock(time.Now())}, passes: map[string]int{},
	}
	e.SetDefaultEventuallyTimeout(time.Minute)
	e.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	seedConfig, shootConfig := e.config(running.Seed.Kubeconfig), e.config(running.Shoots[0].Kubeconfig)
	e.seed, e.shoot = e.clientFor(seedConfig), e.clientFor(shootConfig)
	installing.Do(func() {
		e.Expect(install.CRDs(e.ctx, e.seed)).To(Succeed())
	})
	for _, c := range []client.Client{e.seed, e.shoot} {
		e.Expect(c.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	}
	kubeconfig, err := os.ReadFile(running.Shoots[0].Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(e.seed.Create(e.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: shootclient.SecretName},
		Data:       map[string][]byte{shootclient.SecretKey: kubeconfig},
	})).To(Succeed())
	return e
}

func (e *env) config(kubeconfig string) *rest.Config {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	cfg.QPS = -1
	return cfg
}

func (e *env) clientFor(cfg *rest.Config) client.Client {
	c, err := client.New(cfg, client.Options{Scheme: seed.Scheme()})
	e.Expect(err).NotTo(HaveOccurred())
	return c
}

// operator runs the controllers until the end of the test.
func (e *env) operator(t *testing.T) {
	t.Helper()
	cfg := e.config(landscape.Get(t).Seed.Kubeconfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return e.watching("seed", next) })
	mgr, err := ctrl.NewManager(cfg, manager.Options{
		Scheme: seed.Scheme(), Client: seed.ClientOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	e.Expect(err).NotTo(HaveOccurred())
	shoots := shootclient.New(shootclient.Options{
		Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
		WrapTransport: func(namespace string, next http.RoundTripper) http.RoundTripper {
			return e.watching("shoot of "+namespace, next)
		},
	})
	e.Expect(mgr.Add(shoots)).To(Succeed())
	e.Expect(Add(mgr, Options{Shoots: shoots, Clock: e.clock, Period: 100 * time.Millisecond})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the operator ended with: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// watching counts what is looked for in each cluster.
func (e *env) watching(cluster string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		e.mu.Lock()
		query := r.URL.Query()
		if r.Method == http.MethodGet && (cluster != "seed" || strings.Contains(r.URL.Path, e.namespace)) && query.Get("labelSelector") == resourcesv1alpha1.GarbageCollectable+"=true" {
			e.passes[cluster]++
		}
		refuse := e.refuse != "" && r.URL.Path == e.refuse
		e.mu.Unlock()
		if refuse {
			return nil, fmt.Errorf("refused by the test")
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// afterPasses waits until two more whole passes over a cluster have been made.
func (e *env) afterPasses(cluster string) {
	if cluster == "shoot" {
		cluster += " of " + e.namespace
	}
	count := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.passes[cluster]
	}
	// Each lists two kinds, and one pass may be on its way.
	until := count() + 6
	e.Eventually(count).Should(BeNumerically(">=", until))
}

// fail has requests for a path fail, or none.
func (e *env) fail(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = path
}

// meta is that of an object which may be collected.
func (e *env) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: e.namespace, Name: name, Labels: map[string]string{resourcesv1alpha1.GarbageCollectable: "true"},
	}
}

// remaining are the names of a cluster's Secrets and ConfigMaps, but for those that
// the environment itself has made.
func (e *env) remaining(c client.Client) func() []string {
	return func() []string {
		secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
		e.Expect(c.List(e.ctx, secrets, client.InNamespace(e.namespace))).To(Succeed())
		e.Expect(c.List(e.ctx, configMaps, client.InNamespace(e.namespace))).To(Succeed())
		names := []string{}
		for _, each := range secrets.Items {
			if each.Name != shootclient.SecretName {
				names = append(names, "Secret "+each.Name)
			}
		}
		for _, each := range configMaps.Items {
			if each.Name != "kube-root-ca.crt" {
				names = append(names, "ConfigMap "+each.Name)
			}
		}
		return names
	}
}
