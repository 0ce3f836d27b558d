// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testclock "k8s.io/utils/clock/testing"
)

// However often reflectors try, a shoot's failing watches are told once an hour, whatever the
// reasons are.
func TestWatchesThatFailAreToldOnce(t *testing.T) {
	g := NewWithT(t)
	start := time.Now()
	clock := testclock.NewFakePassiveClock(start)
	options := Options{Clock: clock}
	options.setDefaults()
	s := &Shoot{
		Namespace: "shoot--dev--one", options: &options, connection: &connection{state: &answers{clock: clock}},
		refused: &refusals{clock: clock},
	}
	before := linesAboutWatches()
	lines := func() int { return linesAboutWatches() - before }
	fails := func(ctx context.Context, errs ...error) {
		for _, err := range errs {
			s.watchFailed(ctx, configMaps, err)
			s.watchFailed(ctx, daemonSets, err)
		}
	}
	refused := errors.New("dial tcp 10.0.0.1:443: connect: connection refused")
	for range 1000 {
		fails(t.Context(), refused)
	}
	g.Expect(lines()).To(Equal(1))
	g.Expect(logged.With("Objects of a shoot cannot be watched")[before]).To(ContainSubstring(refused.Error()))
	clock.SetTime(start.Add(59 * time.Minute))
	fails(t.Context(), refused)
	g.Expect(lines()).To(Equal(1))
	clock.SetTime(start.Add(time.Hour))
	fails(t.Context(), refused)
	g.Expect(lines()).To(Equal(2), "it is still so an hour later")

	for i := range 600 {
		clock.SetTime(clock.Now().Add(time.Second))
		fails(t.Context(), fmt.Errorf("another reason each time: %d", i))
	}
	g.Expect(lines()).To(Equal(2), "whatever the reason")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	clock.SetTime(clock.Now().Add(time.Hour))
	fails(ended, refused)
	fails(t.Context(), apierrors.NewForbidden(configMaps.GroupVersion().WithResource("configmaps").GroupResource(), "", nil))
	fails(t.Context(), apierrors.NewResourceExpired("too old"))
	g.Expect(lines()).To(Equal(2), "the end of a shoot, a refusal and an old version are nothing to tell here")
}
