// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

func TestStateSurvivesTheStatus(t *testing.T) {
	g := NewWithT(t)
	kept := &State{
		Applied:    &pipeline.Applied{Config: []byte(`{"a":1}`), Sources: map[string]plugin.Source{"a": plugin.FromUser}},
		Written:    &Written{Generation: 2, Config: &pipeline.Applied{Config: []byte(`{"a":2}`)}, Warnings: []plugin.Warning{{Field: "f", Message: "<m>"}}},
		Bundles:    []Bundle{BundleOf(&plugin.Bundle{Name: "b", Await: true, Phase: plugin.NetworkPhase}, "b-1")},
		Components: []plugin.Component{{Name: "cans", Kind: "DaemonSet"}},
	}
	raw, err := kept.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	again, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(kept))
	g.Expect(again.IsFor(kept.Written, kept.Bundles)).To(BeTrue())
	g.Expect(again.IsFor(kept.Written, nil)).To(BeFalse())
	again.Written.Generation++
	g.Expect(again.IsFor(kept.Written, kept.Bundles)).To(BeFalse())
}

// What is applied and written is kept once, and what differs twice.
func TestAStateHasEachThingOnce(t *testing.T) {
	g := NewWithT(t)
	config := &pipeline.Applied{Config: []byte(`{"marker":1}`)}
	for _, test := range []struct {
		state *State
		count int
	}{
		{&State{Applied: config, Written: &Written{Config: config}}, 1},
		{&State{Written: &Written{Config: config}}, 1},
		{&State{Applied: config}, 1},
		{&State{Applied: config, Written: &Written{Config: &pipeline.Applied{Config: []byte(`{"marker":2}`)}}}, 2},
	} {
		raw, err := test.state.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Count(string(raw.Raw), "marker")).To(Equal(test.count))
		again, err := Decode(raw)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(test.state))
		repeated, err := again.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(repeated).To(Equal(raw))
	}
}

// What is written again is kept, unless it was accepted for something else.
func TestAStateKeepsWhatIsWrittenAgain(t *testing.T) {
	g := NewWithT(t)
	written := func(namespace string) *Written {
		accepted := &pipeline.Accepted{Facts: plugin.Facts{Namespace: namespace}}
		return &Written{Generation: 1, Config: &pipeline.Applied{Config: []byte(`{"b":1,"a":2}`), Accepted: accepted}}
	}
	kept := &State{Written: written("one")}
	kept.Applied = kept.Written.Config
	before, err := kept.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Kept(written("one"))).To(BeIdenticalTo(kept.Written))
	kept.Written = kept.Kept(written("one"))
	g.Expect(kept.Encode()).To(Equal(before))
	other := written("two")
	g.Expect(kept.Kept(other)).To(BeIdenticalTo(other))
	g.Expect((&State{}).Kept(other)).To(BeIdenticalTo(other))
}

func TestAnEmptyStatusIsAnEmptyState(t *testing.T) {
	g := NewWithT(t)
	for _, raw := range []*runtime.RawExtension{nil, {}} {
		kept, err := Decode(raw)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept).To(Equal(&State{}))
	}
}

func TestForeignStateIsNamed(t *testing.T) {
	_, err := Decode(&runtime.RawExtension{Raw: []byte(`{"written":"yesterday"}`)})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("status.state is not Trellis'")))
}

// An API server sorts the keys of what it stores.
func TestTheOrderOfKeysTellsNothing(t *testing.T) {
	g := NewWithT(t)
	same := func(one, two string) bool {
		written := func(raw string) *Written { return &Written{Config: &pipeline.Applied{Config: []byte(raw)}} }
		return (&State{Written: written(one)}).IsFor(written(two), nil)
	}
	g.Expect(same(`{"b":1,"a":[2,{"d":"","c":null}]}`, `{"a":[2,{"c":null,"d":""}],"b":1}`)).To(BeTrue())
	g.Expect(same(`{"a":[1,2]}`, `{"a":[2,1]}`)).To(BeFalse())
	g.Expect(same(`{"a":9007199254740993}`, `{"a":9007199254740992}`)).To(BeFalse())
}
