// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A thousand ManagedResources of a seed that lacks a kind send one request together.
func TestAnAbsentKindIsAskedAboutNowAndThen(t *testing.T) {
	g := NewWithT(t)
	var known absentKinds
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asked, there := 0, false
	ask := func(server string, at time.Time) bool {
		about := absentKind{server, schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}}
		return known.ask(about, at, func() bool { asked++; return there })
	}
	for range 1000 {
		g.Expect(ask("seed", now)).To(BeFalse())
	}
	g.Expect(asked).To(Equal(1))
	g.Expect(ask("another", now)).To(BeFalse())
	g.Expect(asked).To(Equal(2))
	there = true
	g.Expect(ask("seed", now.Add(absentFor-time.Second))).To(BeFalse(), "it is not asked yet")
	g.Expect(ask("seed", now.Add(absentFor))).To(BeTrue())
	g.Expect(ask("seed", now.Add(absentFor))).To(BeTrue())
}

// Of a thousand clusters that came and went nothing is remembered.
func TestAbsentKindsOfFormerClustersAreForgotten(t *testing.T) {
	g := NewWithT(t)
	var known absentKinds
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 1000 {
		g.Expect(known.ask(absentKind{server: fmt.Sprint(i)}, now.Add(time.Duration(i)*time.Second), func() bool { return false })).To(BeFalse())
	}
	g.Expect(len(known.found.Clone())).To(BeNumerically("<=", absentFor/time.Second))
}
