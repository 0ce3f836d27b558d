// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/slots"
)

// slowShoots answer when the test releases them, and report each request.
type slowShoots struct {
	Shoots
	asked, let chan struct{}
}

var errLetGo = errors.New("let go")

func (s *slowShoots) For(ctx context.Context, _ string) (*shootclient.Shoot, error) {
	select {
	case s.asked <- struct{}{}:
		<-s.let
		return nil, errLetGo
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *slowShoots) Forget(string) {}

// A cluster that occupies a worker for long gets no second one until it is fast again.
// Other clusters do.
func TestASlowClusterGetsOneWorker(t *testing.T) {
	e := newEnv(t)
	other := *e
	other.namespace += "-other"
	e.Expect(e.seed.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}})).To(Succeed())
	clock := testclock.NewFakePassiveClock(time.Now())
	shoots := &slowShoots{asked: make(chan struct{}), let: make(chan struct{})}
	options := Options{Shoots: shoots, Clock: clock}
	options.setDefaults()
	r := newReconciler(e.seed, e.seed, e.seed, &events.FakeRecorder{}, options)
	ended := make(chan error)
	begins := func(e *env, name string) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.state(name))}
		go func() {
			_, err := r.Reconcile(e.ctx, request)
			ended <- err
		}()
		<-shoots.asked
	}
	ends := func() {
		shoots.let <- struct{}{}
		e.Expect(<-ended).To(MatchError(errLetGo))
	}
	putOff := func(name string) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.state(name))}
		ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
		defer cancel()
		result, err := r.Reconcile(ctx, request)
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(result).To(Equal(reconcile.Result{RequeueAfter: slots.Retry}))
	}

	begins(e, "first")
	begins(e, "beside-it")
	clock.SetTime(clock.Now().Add(slots.After))
	putOff("beside-slow-ones")
	begins(&other, "of-another-cluster")
	ends()
	ends()
	ends()

	begins(e, "after-slow-ones")
	putOff("too-early")
	ends()
	clock.SetTime(clock.Now().Add(10 * slots.After))
	begins(e, "after-a-quick-one")
	begins(e, "beside-that")
	ends()
	ends()
	gone := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "gone", Name: "gone"}}
	leave, _ := r.slots.Enter("gone", clock.Now())
	leave(clock.Now().Add(slots.After))
	_, err := r.Reconcile(e.ctx, gone)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(r.slots.Len()).To(BeZero(), "nothing is remembered of clusters that are fine, or gone")
}
