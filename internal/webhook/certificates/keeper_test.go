// SPDX-License-Identifier: Apache-2.0

package certificates_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/webhook/certificates"
	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

const day = 24 * time.Hour

// replicas are some that share a Secret.
type replicas struct {
	*WithT
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
	secret *corev1.Secret
}

func setup(t *testing.T) *replicas {
	t.Helper()
	seed := landscape.Seed(t)
	return &replicas{
		WithT: NewWithT(t), t: t, client: seed, clock: clocktesting.NewFakeClock(time.Now()),
		secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: seed.Namespace(t, "operator-"), Name: "webhooks"}},
	}
}

func (r *replicas) options() certificates.Options {
	return certificates.Options{
		Client: r.client, Namespace: r.secret.Namespace, Name: r.secret.Name,
		Hosts: []string{"trellis.garden"}, Clock: r.clock,
	}
}

// another starts a replica, which runs until the test ends or stop is called.
func (r *replicas) another() (keeper *certificates.Keeper, stop func()) {
	r.t.Helper()
	keeper, err := certificates.New(r.t.Context(), r.options())
	r.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = keeper.Start(ctx) })
	stop = func() { cancel(); running.Wait() }
	r.t.Cleanup(stop)
	return keeper, stop
}

// pass lets time go by, and the replicas look at the Secret once.
func (r *replicas) pass(duration time.Duration, running int) {
	r.t.Helper()
	r.Eventually(r.clock.Waiters).Should(Equal(running))
	r.clock.Step(duration)
}

func (r *replicas) stored() map[string][]byte {
	r.t.Helper()
	r.Expect(r.client.Get(r.t.Context(), client.ObjectKeyFromObject(r.secret), r.secret)).To(Succeed())
	return maps.Clone(r.secret.Data)
}

// trusts returns an error unless a client that was told of a bundle trusts what is served.
func (r *replicas) trusts(bundle []byte, keeper *certificates.Keeper) error {
	served, err := keeper.Certificate(&tls.ClientHelloInfo{})
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	r.Expect(pool.AppendCertsFromPEM(bundle)).To(BeTrue())
	_, err = served.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: r.clock.Now(), DNSName: "trellis.garden"})
	return err
}

func TestReplicasShareTheirCertificates(t *testing.T) {
	r := setup(t)
	var mutex sync.Mutex
	var keepers []*certificates.Keeper
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			keeper, err := certificates.New(t.Context(), r.options())
			r.Expect(err).NotTo(HaveOccurred())
			mutex.Lock()
			defer mutex.Unlock()
			keepers = append(keepers, keeper)
		})
	}
	starting.Wait()
	for _, keeper := range keepers {
		r.Expect(keeper.Bundle()).To(Equal(r.stored()["ca.crt"]))
		r.Expect(r.trusts(keepers[0].Bundle(), keeper)).To(Succeed())
		r.Expect(keeper.Changed()).NotTo(Receive(), "clients have no other bundle")
	}
}

// One replica renews, the others read that, and a client with the former
// bundle trusts all of them meanwhile.
func TestReplicasRenewBeforeAnythingExpires(t *testing.T) {
	r := setup(t)
	one, _ := r.another()
	other, _ := r.another()
	first := one.Bundle()

	r.pass(310*day, 2) // its successor is announced two months before an authority expires
	for _, keeper := range []*certificates.Keeper{one, other} {
		r.Eventually(keeper.Changed()).Should(Receive())
		r.Eventually(keeper.Bundle).Should(Equal(r.stored()["ca.crt"]))
		r.Eventually(func() error { return r.trusts(first, keeper) }).Should(Succeed())
	}
	both := one.Bundle()
	r.Expect(both).To(HavePrefix(string(first)))

	r.pass(31*day, 2) // and signs a month later
	for _, keeper := range []*certificates.Keeper{one, other} {
		r.Eventually(func() error { return r.trusts(both[len(first):], keeper) }).Should(Succeed())
		r.Expect(keeper.Bundle()).To(Equal(both))
	}
}

func TestRestartsChangeNothing(t *testing.T) {
	r := setup(t)
	_, stop := r.another()
	before := r.stored()
	version := r.secret.ResourceVersion
	stop()
	again, _ := r.another()
	r.Expect(r.stored()).To(Equal(before))
	r.Expect(r.secret.ResourceVersion).To(Equal(version))
	r.Expect(r.trusts(before["ca.crt"], again)).To(Succeed())
}

// What a replica knows is what clients were told. So it is written again.
func TestASecretThatIsGoneOrSpoiltIsRestored(t *testing.T) {
	for name, spoil := range map[string]func(r *replicas) error{
		"gone": func(r *replicas) error { return r.client.Delete(r.t.Context(), r.secret) },
		"spoilt": func(r *replicas) error {
			r.secret.Data["tls.key"] = []byte("rust")
			return r.client.Update(r.t.Context(), r.secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := setup(t)
			keeper, _ := r.another()
			before := r.stored()
			r.Expect(spoil(r)).To(Succeed())
			r.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.secret.Namespace, Name: r.secret.Name}}
			r.pass(time.Minute, 1)
			r.Eventually(func(g Gomega) {
				g.Expect(r.client.Get(t.Context(), client.ObjectKeyFromObject(r.secret), r.secret)).To(Succeed())
				g.Expect(r.secret.Data).To(Equal(before))
			}).Should(Succeed())
			r.Expect(keeper.Bundle()).To(Equal(before["ca.crt"]))
			r.Expect(keeper.Changed()).NotTo(Receive())
		})
	}
}

// The old authorities are lost, so clients get a new bundle.
func TestAProcessThatFindsASpoiltSecretBeginsAnew(t *testing.T) {
	r := setup(t)
	_, stop := r.another()
	before := r.stored()
	stop()
	r.secret.Data = map[string][]byte{"tls.crt": []byte("rust"), "tls.key": nil}
	r.Expect(r.client.Update(t.Context(), r.secret)).To(Succeed())
	keeper, _ := r.another()
	r.Expect(r.trusts(r.stored()["ca.crt"], keeper)).To(Succeed())
	r.Expect(keeper.Bundle()).NotTo(Equal(before["ca.crt"]))
}

func TestWithoutASecretThereIsNoServer(t *testing.T) {
	r := setup(t)
	options := r.options()
	options.Namespace = "nowhere"
	_, err := certificates.New(t.Context(), options)
	r.Expect(err).To(MatchError(ContainSubstring("keep the webhooks' certificates in the Secret nowhere/webhooks: ")))
}
