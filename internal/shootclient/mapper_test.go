// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// A shoot keeps only the kinds that controllers have asked for, once they ask for no others.
func TestWhatDiscoverySaysIsForgotten(t *testing.T) {
	g := NewWithT(t)
	clock := testclock.NewFakePassiveClock(time.Now())
	discoveries := 0
	m := &mapper{
		clock: clock, known: map[schema.GroupVersionKind]*meta.RESTMapping{},
		discover: func() (meta.RESTMapper, error) {
			discoveries++
			all := meta.NewDefaultRESTMapper(nil)
			all.Add(configMaps, meta.RESTScopeNamespace)
			all.Add(daemonSets, meta.RESTScopeNamespace)
			return all, nil
		},
	}
	asked := func(kind schema.GroupVersionKind) {
		t.Helper()
		mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(mapping.GroupVersionKind).To(Equal(kind))
	}
	asked(configMaps)
	m.forget(time.Second)
	asked(daemonSets)
	g.Expect(discoveries).To(Equal(1), "it has just been asked")
	clock.SetTime(clock.Now().Add(time.Second))
	m.forget(time.Second)
	g.Expect(m.all).To(BeNil())
	asked(configMaps)
	asked(daemonSets)
	g.Expect(discoveries).To(Equal(1), "it has been asked for both")
	_, err := m.RESTMapping(schema.GroupKind{Kind: "Other"}, "v1")
	g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
	g.Expect(discoveries).To(Equal(2))
}
