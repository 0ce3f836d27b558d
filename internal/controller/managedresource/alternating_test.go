// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

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
	r := e.timed(e.state("network", e.configMap("one")), shoots)
	run := func() {
		_, _ = r.reconcile() // an error is the cluster's
		r.pass(time.Second)
	}
	for range len(shoots.turn) { // the new content
		run()
	}
	before := r.writes
	for range 100 {
		run()
	}
	e.Expect(r.writes - before).To(And(BeNumerically(">=", budget.Reports), BeNumerically("<=", budget.Reports+100/10)))
	e.Expect(len(r.events)).To(BeNumerically("<=", r.writes))

	shoots.turn = []error{nil}
	for after := time.Duration(0); after <= budget.Period; after += time.Second {
		run()
	}
	e.Expect(e.conditions("network")()).To(Equal(good))
	before = r.writes
	run()
	e.Expect(r.writes).To(Equal(before))
}
