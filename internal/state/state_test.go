// SPDX-License-Identifier: Apache-2.0

package state

import (
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
		Written:    &Written{Generation: 2, Bundle: "b", Config: &pipeline.Applied{Config: []byte(`{"a":2}`)}, Warnings: []plugin.Warning{{Field: "f", Message: "<m>"}}},
		Components: []plugin.Component{{Name: "cans", Kind: "DaemonSet"}},
	}
	raw, err := kept.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	again, err := Decode(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(kept))
	g.Expect(again.Written.Equal(kept.Written)).To(BeTrue())
	again.Written.Generation++
	g.Expect(again.Written.Equal(kept.Written)).To(BeFalse())
}

func TestAnEmptyStatusIsAnEmptyState(t *testing.T) {
	g := NewWithT(t)
	for _, raw := range []*runtime.RawExtension{nil, {}} {
		kept, err := Decode(raw)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept).To(Equal(&State{}))
		g.Expect(kept.Written.Equal(nil)).To(BeTrue())
	}
}

func TestForeignStateIsNamed(t *testing.T) {
	_, err := Decode(&runtime.RawExtension{Raw: []byte(`{"written":"yesterday"}`)})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("status.state is not Trellis'")))
}

// An API server sorts the keys of what it stores.
func TestTheOrderOfKeysTellsNothing(t *testing.T) {
	g := NewWithT(t)
	config := func(raw string) *Written { return &Written{Config: &pipeline.Applied{Config: []byte(raw)}} }
	g.Expect(config(`{"b":1,"a":[2,{"d":"","c":null}]}`).Equal(config(`{"a":[2,{"c":null,"d":""}],"b":1}`))).To(BeTrue())
	g.Expect(config(`{"a":[1,2]}`).Equal(config(`{"a":[2,1]}`))).To(BeFalse())
	g.Expect(config(`{"a":9007199254740993}`).Equal(config(`{"a":9007199254740992}`))).To(BeFalse())
}
