// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/trellis-network/trellis/internal/seedclient"
)

// Cluster is an administrator's client of an API server, with the operator's scheme.
type Cluster struct {
	client.WithWatch
	// Config sets no rate limit and ignores warnings.
	Config *rest.Config
	// Kubeconfig is the content of the administrator's kubeconfig.
	Kubeconfig []byte
	// AuditLog is the path of the API server's audit log, if it writes one.
	AuditLog string
}

// Connect reads the kubeconfig at a path.
func Connect(path string) (*Cluster, error) {
	kubeconfig, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.NewWithWatch(config, client.Options{Scheme: seedclient.Scheme()})
	return &Cluster{WithWatch: c, Config: config, Kubeconfig: kubeconfig}, err
}

// Namespace creates a namespace for one test. Its name begins with the prefix, and no other
// test of any package uses it.
func (c *Cluster) Namespace(tb testing.TB, prefix string) string {
	tb.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := c.Create(tb.Context(), namespace); err != nil {
		tb.Fatal(err)
	}
	return namespace.Name
}

// Run runs a manager with the controllers that add adds to it, like a process of the operator
// that sees only these namespaces. It records the manager's requests, unless requests is nil.
// The manager runs until stop is called, or the test ends. adjust changes the manager's
// options.
func (c *Cluster) Run(tb testing.TB, namespaces []string, requests *Requests, add func(manager.Manager) error, adjust ...func(*ctrl.Options)) (stop func()) {
	tb.Helper()
	config := rest.CopyConfig(c.Config)
	if requests != nil {
		config.Wrap(requests.Wrap)
	}
	seen := map[string]cache.Config{}
	for _, namespace := range namespaces {
		seen[namespace] = cache.Config{}
	}
	options := ctrl.Options{
		Scheme:  seedclient.Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return c.RESTMapper(), nil // all managers share the result of discovery
		},
		Controller: crconfig.Controller{SkipNameValidation: new(true)},
		Cache:      cache.Options{DefaultNamespaces: seen},
		Client:     seedclient.Options(),
	}
	for _, each := range adjust {
		each(&options)
	}
	mgr, err := ctrl.NewManager(config, options)
	if err == nil {
		err = add(mgr)
	}
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("the manager ended with %v", err)
		}
	})
	tb.Cleanup(stop)
	return stop
}
