// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
)

// Access lasts as long as the Secret stays as it is, and no longer.
func TestAccessNeverOutlivesItsSecret(t *testing.T) {
	contract.Shows(t, "S2")
	e := newEnv(t)
	var noAccess *NoAccessError
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(errors.As(err, &noAccess)).To(BeTrue())

	e.grant(e.shoot.Kubeconfig)
	first, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(first.Client.Get(e.ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})).To(Succeed())
	sent := e.requests.Load()
	e.Expect(e.clients.For(e.ctx, e.namespace)).To(BeIdenticalTo(first))
	e.Expect(e.requests.Load()).To(Equal(sent), "the same access costs no request")

	e.grant(slices.Concat(e.shoot.Kubeconfig, []byte("\n")))
	second, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(second).NotTo(BeIdenticalTo(first))
	e.Expect(first.open.Err()).To(HaveOccurred())

	e.Expect(e.seed.Delete(e.ctx, e.secret())).To(Succeed())
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(errors.As(err, &noAccess)).To(BeTrue())
	e.Expect(second.open.Done()).To(BeClosed())
}

// goroutines counts those with one of the functions on their stacks.
func goroutines(functions ...string) int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	count := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stack, f) }) {
			count++
		}
	}
	return count
}

// watching counts what goes on for watches, and connected the open connections.
func watching() int  { return goroutines("client-go/tools/cache.", "controller-runtime/pkg/cache") }
func connected() int { return goroutines(".readLoop(") }

// Nothing of a closed shoot goes on running.
func TestClosingLeavesNothingBehind(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	e.Expect(e.shoot.Get(e.ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})).To(Succeed())
	e.Eventually(watching).Should(BeZero(), "what other tests have left")
	before := connected()
	for range 3 {
		shoot, err := e.clients.For(e.ctx, e.namespace)
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(shoot.Watch(e.ctx, configMaps, daemonSets, Nodes.Kind)).To(Succeed())
		e.Expect(watching()).To(BeNumerically(">=", 3))
		e.Expect(connected()).To(BeNumerically(">", before))
		e.clients.Forget(e.namespace)
	}
	e.Eventually(watching).Should(BeZero())
	e.Eventually(connected).Should(BeNumerically("<=", before))

	e.clients.Close()
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(MatchError(errClosed))
}

// pretend returns the kubeconfig of an API server at an address.
func pretend(address string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://%s","insecure-skip-tls-verify":true}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`, address)
}

// A shoot that is dead is found out quickly, and not asked again all the time.
func TestDeadShootsDelayNoOtherShoot(t *testing.T) {
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refusing.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()

	for name, address := range map[string]string{
		"refuses connections":           refusing.Addr().String(),
		"takes them and says nothing":   silent.Addr().String(),
		"has a name that no server has": "shoot.invalid:443",
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Now())
			e := newEnv(t, func(o *Options) {
				o.Clock, o.ConnectTimeout, o.RequestTimeout = clock, 500*time.Millisecond, time.Hour
			})
			e.grant(pretend(address))
			ask := func() time.Duration {
				start := time.Now()
				_, err := e.clients.For(e.ctx, e.namespace)
				var unreachable *UnreachableError
				e.Expect(errors.As(err, &unreachable)).To(BeTrue())
				e.Expect(err.Error()).To(HavePrefix("the shoot's API server https://" + address + " cannot be reached: "))
				return time.Since(start)
			}
			e.Expect(ask()).To(BeNumerically("<", 5*time.Minute), "it is not waited for as for an answer")
			sent := e.requests.Load()
			ask()
			e.Expect(e.requests.Load()).To(Equal(sent), "it was asked a moment ago")
			clock.SetTime(clock.Now().Add(time.Minute))
			ask()
			e.Expect(e.requests.Load()).To(Equal(sent + 1))

			e.grant(e.shoot.Kubeconfig)
			e.Eventually(func() error {
				clock.SetTime(clock.Now().Add(time.Minute)) // a busy machine may not have connected in time
				_, err := e.clients.For(e.ctx, e.namespace)
				return err
			}).Should(Succeed())
		})
	}
}

// However many ask about a shoot that did not answer, one waits for it to answer
// again; the others are told at once and go on with other shoots.
func TestOneWaitsForADeadShoot(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var tries atomic.Int32
	e := newEnv(t, func(o *Options) {
		o.ConnectTimeout = time.Hour
		o.WrapTransport = func(string, http.RoundTripper) http.RoundTripper {
			return harness.RoundTripper(func(*http.Request) (*http.Response, error) {
				if tries.Add(1) > 1 {
					close(entered)
					<-release
				}
				return nil, errors.New("there is no server")
			})
		}
	})
	e.grant(e.shoot.Kubeconfig)
	unreachable := func(err error) bool { return errors.As(err, new(*UnreachableError)) }
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(Satisfy(unreachable))
	waited := make(chan error)
	go func() {
		_, err := e.clients.For(e.ctx, e.namespace)
		waited <- err
	}()
	<-entered
	for range 10 {
		_, err := e.clients.For(e.ctx, e.namespace)
		e.Expect(err).To(Satisfy(unreachable))
	}
	close(release)
	e.Expect(<-waited).To(Satisfy(unreachable))
	e.Expect(tries.Load()).To(BeEquivalentTo(2))
}

// A kubeconfig of a user must not make the operator run programs or read its own
// files.
func TestKubeconfigsAreJudged(t *testing.T) {
	config := func(user, cluster string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://shoot.example"%s}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{%s}}]}`, cluster, user)
	}
	for name, c := range map[string]struct{ kubeconfig, problem string }{
		"fine":                {config(`"token":"t"`, ""), ""},
		"missing":             {"", "no key kubeconfig"},
		"no kubeconfig":       {"hello", "is not a kubeconfig"},
		"empty kubeconfig":    {"{}", "names no cluster"},
		"a program":           {config(`"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"sh"}`, ""), "credential plugin"},
		"an old plugin":       {config(`"auth-provider":{"name":"x"}`, ""), "credential plugin"},
		"a token file":        {config(`"tokenFile":"/etc/passwd"`, ""), "refers to files"},
		"a certificate file":  {config(`"client-certificate":"/a","client-key":"/b"`, ""), "refers to files"},
		"a certificate of CA": {config(`"token":"t"`, `,"certificate-authority":"/a"`), "refers to a file"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Config([]byte(c.kubeconfig))
			if c.problem == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.problem)))
			}
		})
	}
}

// A Secret that is being deleted and is held gives access as before: what has to
// be taken from the shoot before it goes can be.
func TestADyingSecretStillGivesAccess(t *testing.T) {
	e := newEnv(t)
	e.grant(e.shoot.Kubeconfig)
	secret := e.secret()
	e.Expect(e.seed.Get(e.ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	secret.Finalizers = []string{"example.org/held"}
	e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
	e.Expect(e.seed.Delete(e.ctx, secret)).To(Succeed())
	shoot, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(shoot.Client.Get(e.ctx, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})).To(Succeed())

	e.Expect(e.seed.Get(e.ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	secret.Finalizers = nil
	e.Expect(e.seed.Update(e.ctx, secret)).To(Succeed())
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(errors.As(err, new(*NoAccessError))).To(BeTrue())
}

// The first Secret that is there is used, whenever it appears and disappears.
func TestThePreferredSecretIsUsed(t *testing.T) {
	contract.Shows(t, "S1")
	e := newEnv(t, func(o *Options) { o.SecretNames = []string{InternalSecretName, SecretName} })
	var noAccess *NoAccessError
	_, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(errors.As(err, &noAccess)).To(BeTrue())
	e.Expect(err).To(MatchError(HavePrefix("there is no access to the shoot: Secret " + e.namespace + "/gardener: ")))

	e.grant(e.shoot.Kubeconfig)
	external, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())

	preferred := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: InternalSecretName}, Data: map[string][]byte{SecretKey: e.shoot.Kubeconfig}}
	e.Expect(e.seed.Create(e.ctx, preferred)).To(Succeed())
	internal, err := e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(internal).NotTo(BeIdenticalTo(external))
	e.Expect(external.open.Done()).To(BeClosed())
	e.Expect(e.clients.For(e.ctx, e.namespace)).To(BeIdenticalTo(internal))

	preferred.Data[SecretKey] = []byte("hello")
	e.Expect(e.seed.Update(e.ctx, preferred)).To(Succeed())
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(err).To(MatchError(HavePrefix("there is no access to the shoot: Secret "+e.namespace+"/gardener-internal: ")), "what is preferred is not passed over")

	e.Expect(e.seed.Delete(e.ctx, preferred)).To(Succeed())
	e.Expect(internal.open.Done()).To(BeClosed())
	_, err = e.clients.For(e.ctx, e.namespace)
	e.Expect(err).NotTo(HaveOccurred())
}
