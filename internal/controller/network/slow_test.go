// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/slots"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// slowSeed has a Network in each namespace. A run that reads anything else reports that, waits
// until the test lets it go, and ends.
type slowSeed struct {
	client.Client
	asked, let chan struct{}
}

func (s *slowSeed) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	network, is := object.(*extensionsv1alpha1.Network)
	if !is {
		select {
		case s.asked <- struct{}{}:
			<-s.let
			panic("let go")
		case <-ctx.Done():
			panic("this run had to be put off")
		}
	}
	network.Namespace, network.Name, network.ResourceVersion = key.Namespace, key.Name, "7"
	return nil
}

// Clusters whose runs were slow get half of the workers, so that networks of others are
// reconciled while they hang.
func TestSlowClustersDoNotTakeAllWorkers(t *testing.T) {
	g := NewWithT(t)
	built, err := pipeline.New([]plugin.Plugin{{}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	clock := testclock.NewFakePassiveClock(time.Now())
	seed := &slowSeed{asked: make(chan struct{}), let: make(chan struct{})}
	r := newReconciler(seed, nil, nil, nil, Options{Pipeline: built, Timeout: time.Minute, MaxConcurrentReconciles: 4, Clock: clock})
	request := func(namespace string) ctrl.Request {
		return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "example"}}
	}
	ended := make(chan any)
	begins := func(namespace string) {
		go func() {
			defer func() { ended <- recover() }()
			_, _ = r.Reconcile(t.Context(), request(namespace))
		}()
		<-seed.asked
	}
	ends := func() {
		seed.let <- struct{}{}
		g.Expect(<-ended).To(Equal("let go"))
	}
	for _, slow := range []string{"one", "two", "three"} {
		begins(slow)
		clock.SetTime(clock.Now().Add(slowAfter))
		ends()
	}
	begins("one")
	begins("two")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := r.Reconcile(ctx, request("three"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: slots.Retry}), "two of four workers are with slow clusters")
	begins("of-another-cluster")
	ends()
	ends()
	ends()
	for _, gone := range []string{"one", "two", "three", "of-another-cluster"} {
		r.forget(request(gone).NamespacedName)
	}
	g.Expect(r.slots.Len()).To(BeZero(), "nothing is remembered of clusters that are gone")
}
