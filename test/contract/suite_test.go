// SPDX-License-Identifier: Apache-2.0

package contract

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The tests share three API servers: a shoot's, that of a seed with Trellis' CRDs,
// and, in the part of a second seed, that of another shoot, with the schemas of a
// Gardener landscape.
var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/shoot", "garden-dev/another-seed"}, Nodes: 1})

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		if err := runOperator(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	os.Exit(landscape.Main(m))
}

// cluster is an API server.
type cluster struct {
	schemas    string
	kubeconfig string
	config     *rest.Config
	client     client.WithWatch
}

var prepare sync.Once

// clusters are the seed with Trellis' CRDs, that with Gardener's, and the shoot.
func clusters(t *testing.T) (trellis, gardener, shoot *cluster) {
	t.Helper()
	g := NewWithT(t)
	box := landscape.Get(t)
	shoot = connect(g, box.Shoots[0].Kubeconfig, "")
	trellis, gardener = connect(g, box.Seed.Kubeconfig, "Trellis"), connect(g, box.Shoots[1].Kubeconfig, "Gardener")
	prepare.Do(func() {
		g.Expect(install.CRDs(t.Context(), trellis.client)).To(Succeed())
		g.Expect(install.Policies(t.Context(), trellis.client)).To(Succeed())
		g.Expect(install.Gardener(t.Context(), gardener.client)).To(Succeed())
		for _, each := range []*cluster{trellis, gardener} {
			protected(g, each.client)
		}
	})
	return trellis, gardener, shoot
}

func connect(g *WithT, kubeconfig, schemas string) *cluster {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.NewWithWatch(config, client.Options{Scheme: seedclient.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return &cluster{schemas: schemas, kubeconfig: kubeconfig, config: config, client: c}
}

// protected waits until a seed's API server acts by the policies, the last of which
// were installed just now.
func protected(g *WithT, c client.Client) {
	ctx := context.Background()
	n := plainNetwork("default", "protected")
	n.Annotations = map[string]string{extensionsv1alpha1.ConfirmationAnnotation: "no"}
	g.Expect(c.Create(ctx, n)).To(Succeed())
	g.Eventually(func() error { return c.Delete(ctx, n, client.DryRunAll) }).Should(Satisfy(apierrors.IsForbidden))
	g.Eventually(func() error {
		changed := n.DeepCopy()
		changed.Spec.PodCIDR = "10.9.0.0/16"
		return c.Update(ctx, changed, client.DryRunAll)
	}).Should(HaveOccurred())
	n.Annotations[extensionsv1alpha1.ConfirmationAnnotation] = "true"
	g.Expect(c.Update(ctx, n)).To(Succeed())
	g.Expect(c.Delete(ctx, n)).To(Succeed())
}

func plainNetwork(namespace, name string) *extensionsv1alpha1.Network {
	return &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "example"},
			PodCIDR:     "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
}

var controlPlanes atomic.Int32

// newNamespace is the name of a control plane that no test had before.
func newNamespace() string { return fmt.Sprintf("shoot--test--%d", controlPlanes.Add(1)) }

// inBothSchemas runs a test in a seed with Trellis' CRDs and in one with Gardener's.
// The other seed is the one to migrate to.
func inBothSchemas(t *testing.T, test func(t *testing.T, here, there, shoot *cluster)) {
	trellis, gardener, shoot := clusters(t)
	for _, way := range [][2]*cluster{{trellis, gardener}, {gardener, trellis}} {
		t.Run(way[0].schemas, func(t *testing.T) { test(t, way[0], way[1], shoot) })
	}
}

// audit has the requests of a client about single objects.
type audit struct {
	mutex    sync.Mutex
	requests []string
}

func (a *audit) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		query := request.URL.Query()
		if !query.Has("watch") && !query.Has("limit") && !query.Has("dryRun") {
			a.mutex.Lock()
			a.requests = append(a.requests, request.Method+" "+request.URL.Path)
			a.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// about returns the requests about a group's objects in a namespace.
func (a *audit) about(group, namespace string) []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(a.requests), func(request string) bool {
		return !strings.Contains(request, "/"+group+"/") || !strings.Contains(request, "/namespaces/"+namespace+"/")
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
