// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/admission"
)

// balanced returns the address of a listener that gives each connection to the next of some
// servers, as a Service does. It closes a connection after a moment, so that there are new ones
// all the time.
func (g *garden) balanced(servers ...string) string {
	g.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for i := 0; ; i++ {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", servers[i%len(servers)])
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	return listener.Addr().String()
}

// load has the API server ask all the time, and returns what it refused.
func (g *garden) load() (stop func() (asked int64, refused []string)) {
	ctx, cancel := context.WithCancel(g.t.Context())
	var asked atomic.Int64
	var mutex sync.Mutex
	var refused []string
	var running sync.WaitGroup
	for i := range 4 {
		shoot := g.shoot(fmt.Sprintf("load-%d", i), "{networking: {type: calico}}")
		running.Go(func() {
			for ctx.Err() == nil {
				err := g.Create(ctx, shoot.DeepCopy(), client.DryRunAll)
				asked.Add(1)
				if err != nil && ctx.Err() == nil {
					mutex.Lock()
					refused = append(refused, err.Error())
					mutex.Unlock()
				}
			}
		})
	}
	stop = sync.OnceValues(func() (int64, []string) {
		cancel()
		running.Wait()
		return asked.Load(), refused
	})
	g.t.Cleanup(func() { stop() })
	return stop
}

// authorities is how many the API server trusts.
func (g *garden) authorities() int {
	config := configurations()[0].(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if err := g.Get(g.t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
		return 0
	}
	return strings.Count(string(config.Webhooks[0].ClientConfig.CABundle), "BEGIN CERTIFICATE")
}

func (g *garden) serving() string {
	secret := &corev1.Secret{}
	g.Expect(g.Get(g.t.Context(), client.ObjectKey{Namespace: g.namespace, Name: admission.DefaultName}, secret)).To(Succeed())
	return string(secret.Data[corev1.TLSCertKey])
}

// Two replicas renew what they share while Shoots are created all the time. The API server checks
// certificates by the real time, so each step begins with one that is valid now.
func TestCertificatesAreRotatedUnderLoad(t *testing.T) {
	for name, step := range map[string]struct {
		// made and begin are how long ago the authority was made, and when the load begins;
		// announced is in between, if the successor is there already. end is when it ends.
		made, announced, begin, end time.Duration
		before, after               int
	}{
		"the successor of an authority is announced":   {made: 330 * day, begin: 29 * day, end: 20 * day, before: 1, after: 2},
		"the successor signs":                          {made: 345 * day, announced: 39 * day, begin: 15 * day, end: 0, before: 2, after: 2},
		"the serving certificate of an authority ends": {made: 100 * day, begin: 29 * day, end: 0, before: 1, after: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := setup(t)
			one, other := g.freeAddress(), g.freeAddress()
			address := g.balanced(one, other)
			g.clock.set(step.made)
			for _, bind := range []string{one, other} {
				options := g.options(address)
				options.BindAddress = bind
				g.start(options)
			}
			g.Eventually(g.authorities).Should(Equal(1))
			if step.announced > 0 {
				g.clock.set(step.announced)
				g.Eventually(g.authorities).Should(Equal(2))
			}
			g.clock.set(step.begin)
			g.isAsked()
			g.isAskedForDefaults()
			served := g.serving()

			stop := g.load()
			g.clock.set(step.end)
			g.Eventually(g.authorities).Should(Equal(step.after))
			if step.before == step.after {
				g.Eventually(g.serving).ShouldNot(Equal(served))
			}
			renewed := time.Now()
			g.Eventually(func() time.Duration { return time.Since(renewed) }).Should(BeNumerically(">", 3*time.Second))
			asked, refused := stop()
			g.Expect(refused).To(BeEmpty())
			g.Expect(asked).To(BeNumerically(">", 50))
		})
	}
}
