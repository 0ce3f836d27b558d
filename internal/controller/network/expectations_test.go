// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
)

// How long a network takes to be applied is measured over all attempts.
func TestTheTimeOfFailedAttemptsCounts(t *testing.T) {
	g := NewWithT(t)
	m := &localState{}
	n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: "shoot--dev--one", Generation: 1}}
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	attempt := func(after time.Duration, change func()) time.Duration {
		change()
		(gatherer{localState: m}).begin(&run{seen: seen{Network: n}, request: requestOf(n), asksForOperation: asksForOperation(n)}, start.Add(after))
		began, _ := m.starts.Get(client.ObjectKeyFromObject(n))
		return began.at.Sub(start)
	}
	unchanged := func() {}
	asks := func(operation, timestamp string) func() {
		return func() {
			n.Annotations = map[string]string{extensionsv1alpha1.OperationAnnotation: operation, extensionsv1alpha1.TimestampAnnotation: timestamp}
		}
	}
	g.Expect(attempt(0, unchanged)).To(BeZero())
	g.Expect(attempt(1, unchanged)).To(BeZero(), "another attempt")
	g.Expect(attempt(2, func() { n.Generation = 2 })).To(BeEquivalentTo(2), "another generation")
	g.Expect(attempt(3, asks("reconcile", "first"))).To(BeEquivalentTo(3), "another request")
	g.Expect(attempt(4, unchanged)).To(BeEquivalentTo(3), "the same request, once more")
	g.Expect(attempt(5, func() { n.Annotations = nil })).To(BeEquivalentTo(3), "a request that was taken off")
	g.Expect(attempt(6, asks("reconcile", "second"))).To(BeEquivalentTo(6), "another request")

	(&Reconciler{localState: m}).remember(&run{seen: seen{Network: n}}, outcome.Finish())
	n.Annotations = nil
	g.Expect(attempt(7, unchanged)).To(BeEquivalentTo(7), "the one before has come to its end")
}
