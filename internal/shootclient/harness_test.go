// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 1})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(landscape.Main(m))
}

var numbers atomic.Int32

// env is a control-plane namespace in the seed, with access to the shoot.
type env struct {
	*WithT
	ctx         context.Context
	namespace   string
	seed, shoot client.Client
	clients     *Clients
	// requests counts what was sent to the shoot.
	requests atomic.Int32
}

func newEnv(t *testing.T, adjust ...func(*Options)) *env {
	t.Helper()
	running := landscape.Get(t)
	e := &env{WithT: NewWithT(t), ctx: t.Context(), namespace: fmt.Sprintf("shoot--test--%d", numbers.Add(1))}
	e.SetDefaultEventuallyTimeout(time.Minute)
	e.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	e.seed, e.shoot = e.clientFor(running.Seed.Kubeconfig), e.clientFor(running.Shoots[0].Kubeconfig)
	e.Expect(e.seed.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	options := Options{
		Metadata: e.seed, Secrets: e.seed,
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				e.requests.Add(1)
				return next.RoundTrip(r)
			})
		},
	}
	for _, f := range adjust {
		f(&options)
	}
	e.clients = New(options)
	t.Cleanup(e.clients.Close)
	return e
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (e *env) clientFor(path string) client.Client {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	e.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	e.Expect(err).NotTo(HaveOccurred())
	return c
}

func (e *env) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: SecretName}}
}

// grant writes the Secret with a kubeconfig.
func (e *env) grant(kubeconfig []byte) {
	secret := e.secret()
	secret.Data = map[string][]byte{SecretKey: kubeconfig}
	if e.seed.Create(e.ctx, secret) != nil {
		e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
	}
}

func (e *env) kubeconfig(t *testing.T) []byte {
	kubeconfig, err := os.ReadFile(landscape.Get(t).Shoots[0].Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}
