// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.SeedAndShoot()

// logged has what the package logs.
var logged harness.Lines

func TestMain(m *testing.M) {
	log.SetLogger(logged.Logger())
	os.Exit(landscape.Main(m))
}

// linesAboutWatches counts the log lines about watches that fail.
func linesAboutWatches() int { return len(logged.With("Objects of a shoot cannot be watched")) }

// patient are options with which nothing is given up because a machine is busy.
func patient(metadata, secrets client.Reader) Options {
	return Options{Metadata: metadata, Secrets: secrets, ConnectTimeout: time.Minute, RequestTimeout: time.Minute, SyncTimeout: time.Minute}
}

// env is a control-plane namespace in the seed, with access to the shoot.
type env struct {
	*WithT
	ctx         context.Context
	namespace   string
	seed, shoot *harness.Cluster
	clients     *Clients
	// requests counts what was sent to the shoot.
	requests atomic.Int32
}

func newEnv(t testing.TB, adjust ...func(*Options)) *env {
	t.Helper()
	e := &env{WithT: NewWithT(t), ctx: t.Context(), seed: landscape.Seed(t), shoot: landscape.Shoot(t)}
	e.namespace = e.seed.Namespace(t, "shoot--client--")
	options := patient(e.seed, e.seed)
	options.WrapTransport = func(_ string, next http.RoundTripper) http.RoundTripper {
		return harness.RoundTripper(func(r *http.Request) (*http.Response, error) {
			e.requests.Add(1)
			return next.RoundTrip(r)
		})
	}
	for _, f := range adjust {
		f(&options)
	}
	e.clients = New(options)
	e.clients.Declare(Watch{Kind: daemonSets, Typed: true}, Nodes)
	t.Cleanup(e.clients.Close)
	return e
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
