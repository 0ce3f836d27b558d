// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/test/standalone"
)

// written is one write of what a Network's status states of connectivity.
type written struct {
	at      time.Time
	verdict string
}

// writes are those since the Network is there.
type writes struct {
	lock sync.Mutex
	all  []written
}

// countWrites watches the Network until the test ends.
func (l *landscape) countWrites() {
	l.t.Helper()
	changes, err := l.Seed.Watch(l.t.Context(), &extensionsv1alpha1.NetworkList{})
	l.Expect(err).NotTo(HaveOccurred())
	go func() {
		var before any
		for event := range changes.ResultChan() {
			network, is := event.Object.(*extensionsv1alpha1.Network)
			if !is || event.Type == watch.Deleted {
				continue
			}
			health, _ := standalone.HealthOf(network) // without tests if they cannot be read
			if now := connectivityOf(network); health.Pods.Status != "" && !reflect.DeepEqual(before, now) {
				before = now
				l.writes.lock.Lock()
				l.writes.all = append(l.writes.all, written{time.Now(), health.Verdict})
				l.writes.lock.Unlock()
			}
		}
	}()
}

// connectivityOf is all that a Network's status states of connectivity.
func connectivityOf(network *extensionsv1alpha1.Network) any {
	status := map[string]any{}
	if raw := network.Status.ProviderStatus; raw != nil {
		_ = json.Unmarshal(raw.Raw, &status) // a part that is missing differs
	}
	return []any{condition.Value(network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable), status["connectivityTests"], status["networkModules"]}
}

// since returns the writes since a time.
func (w *writes) since(began time.Time) []written {
	w.lock.Lock()
	defer w.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(w.all), func(one written) bool { return one.at.Before(began) })
}

// ahead is how many minutes of writes are used up in advance, one for each write.
func (w *writes) ahead(now time.Time) time.Duration {
	var paid time.Time
	for _, one := range w.since(time.Time{}) {
		if paid.Before(one.at) {
			paid = one.at
		}
		paid = paid.Add(time.Minute)
	}
	return max(0, paid.Sub(now))
}

// rests waits until writes are used up for no longer than that, so that what happens next is told in
// time: what follows at once may be told a minute later.
func (l *landscape) rests(ahead time.Duration) {
	l.t.Helper()
	l.Eventually(func() time.Duration { return l.writes.ahead(time.Now()) }).Should(BeNumerically("<=", ahead))
}

// expectFewWrites expects one write a minute at most since a time, and two in advance. A write may
// take a second or two from when it was due.
func (l *landscape) expectFewWrites(began time.Time) {
	l.t.Helper()
	all := l.writes.since(began)
	for i := range all {
		for j := range all[:i] {
			minutes := int((all[i].at.Sub(all[j].at) + 3*time.Second) / time.Minute)
			l.Expect(i-j+1).To(BeNumerically("<=", 3+minutes), "in %d minutes: %v", minutes, all[j:i+1])
		}
	}
}
