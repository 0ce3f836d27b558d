// SPDX-License-Identifier: Apache-2.0

package tokenrequestor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

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

// env is a control-plane namespace in the seed with access to the shoot, and a
// namespace of the same name there.
type env struct {
	*WithT
	ctx         context.Context
	namespace   string
	seed, shoot client.Client
	clock       *testclock.FakePassiveClock

	kubeconfig []byte
	mu         sync.Mutex
	sent       []string
}

var (
	numbers    atomic.Int32
	installing sync.Once
)

func newEnv(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	running := landscape.Get(t)
	e := &env{
		WithT: NewWithT(t), ctx: t.Context(), namespace: fmt.Sprintf("shoot--test--%d", numbers.Add(1)),
		clock: testclock.NewFakePassiveClock(time.Now().Truncate(time.Second)),
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
	e.kubeconfig = kubeconfig
	e.grant(kubeconfig)
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

// grant writes the Secret that gives access to the shoot.
func (e *env) grant(kubeconfig []byte) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: shootclient.SecretName}}
	secret.Data = map[string][]byte{shootclient.SecretKey: kubeconfig}
	if e.seed.Create(e.ctx, secret) != nil {
		e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
	}
}

// operator runs the controllers until the end of the test.
func (e *env) operator(t *testing.T, adjust ...func(*Options)) {
	t.Helper()
	cfg := e.config(landscape.Get(t).Seed.Kubeconfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return e.recording("seed", next) })
	mgr, err := ctrl.NewManager(cfg, manager.Options{
		Scheme: seed.Scheme(), Client: seed.ClientOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
	})
	e.Expect(err).NotTo(HaveOccurred())
	shoots := shootclient.New(shootclient.Options{
		Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return e.recording("shoot", next) },
	})
	e.Expect(mgr.Add(shoots)).To(Succeed())
	options := Options{Shoots: shoots, Clock: e.clock, Period: 200 * time.Millisecond, Random: func() float64 { return 0.5 }}
	for _, f := range adjust {
		f(&options)
	}
	e.Expect(Add(mgr, options)).To(Succeed())
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

// recording remembers what is sent to a cluster.
func (e *env) recording(cluster string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		e.mu.Lock()
		e.sent = append(e.sent, cluster+" "+r.Method+" "+r.URL.Path)
		e.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// count counts the requests that begin so, and are no reviews if writes are meant.
func (e *env) count(prefixes ...string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, each := range e.sent {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(each, prefix) }) {
			n++
		}
	}
	return n
}

const reviews = "shoot POST /apis/authentication.k8s.io/v1/tokenreviews"

// writes counts the requests that change something.
func (e *env) writes() int {
	all := e.count("seed PATCH", "seed POST", "seed PUT", "shoot PATCH", "shoot POST", "shoot PUT")
	return all - e.count(reviews)
}

// afterReviews waits until the token was reviewed some more times.
func (e *env) afterReviews(n int) {
	until := e.count(reviews) + n
	e.Eventually(func() int { return e.count(reviews) }).Should(BeNumerically(">=", until))
}
