// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trellis-network/trellis/internal/budget"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// moodyShoots give access in turn and, where there is an error, none.
type moodyShoots struct {
	Shoots
	asked int
	turn  []error
}

func (s *moodyShoots) For(ctx context.Context, namespace string) (*shootclient.Shoot, error) {
	s.asked++
	if err := s.turn[s.asked%len(s.turn)]; err != nil {
		return nil, err
	}
	return s.Shoots.For(ctx, namespace)
}

// A cluster that answers, does not, and refuses the credentials in turn changes the status of
// each condition, its reason and its codes each time. The seed is written to ten times at once,
// and then once in ten seconds. What is true in the end is told.
func TestAClusterThatAlternatesIsToldOfOnceInTenSeconds(t *testing.T) {
	e := newEnv(t)
	real := shootclient.New(shootclient.Options{Metadata: e.seed, Secrets: e.seed, SyncTimeout: time.Minute})
	t.Cleanup(real.Close)
	shoots := &moodyShoots{Shoots: real, turn: []error{
		nil, &shootclient.UnreachableError{Err: errors.New("no route")}, nil, &shootclient.NoAccessError{Err: errors.New("no kubeconfig")},
	}}
	clock := testclock.NewFakePassiveClock(time.Now().Truncate(time.Second))
	options := Options{Shoots: shoots, Clock: clock, SyncPeriod: time.Hour}
	options.setDefaults()
	writes, recorder := 0, events.NewFakeRecorder(1000)
	counting := interceptor.NewClient(e.seed, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, object, patch, opts...)
		},
	})
	r := newReconciler(counting, e.seed, e.seed, recorder, options)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.state("network", e.configMap("one")))}
	run := func() reconcile.Result {
		result, _ := r.Reconcile(e.ctx, request) // an error is the cluster's
		clock.SetTime(clock.Now().Add(time.Second))
		return result
	}
	for range len(shoots.turn) { // the new content
		run()
	}
	before := writes
	for range 100 {
		run()
	}
	e.Expect(writes - before).To(And(BeNumerically(">=", budget.Reports), BeNumerically("<=", budget.Reports+100/10)))
	e.Expect(len(recorder.Events)).To(BeNumerically("<=", writes))

	shoots.turn = []error{nil}
	for after := time.Duration(0); after <= budget.Period; after += time.Second {
		run()
	}
	e.Expect(e.conditions("network")()).To(Equal(good))
	before = writes
	run()
	e.Expect(writes).To(Equal(before))
}
