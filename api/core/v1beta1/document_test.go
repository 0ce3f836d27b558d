// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

const document = `{
	"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
	"metadata": {"name": "example", "unknown": 1},
	"spec": {
		"dns": {"domain": "example.org"},
		"networking": {"type": "example", "pods": "10.1.0.0/16", "future": {"a": [1, 2.5, "x"]}},
		"provider": {"type": "local", "workers": [{"name": "w", "machine": {"type": "m"}, "maximum": 3}]}
	},
	"status": {"gardener": {"version": "1"}, "technicalID": "shoot--dev--example"}
}`

// The types have only a part of a Shoot's fields. Encoding must not lose the others.
func TestUnknownFieldsSurviveARoundTrip(t *testing.T) {
	g := NewWithT(t)
	shoot := &Shoot{}
	g.Expect(json.Unmarshal([]byte(document), shoot)).To(Succeed())
	g.Expect(shoot.Spec.Provider.Workers[0].Maximum).To(BeEquivalentTo(3))
	again, err := json.Marshal(shoot.DeepCopy())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(MatchJSON(document))
}

func TestChangesOfKnownFieldsAreWritten(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Shoot)
		wants  string
	}{
		"set":     {func(s *Shoot) { s.Spec.Networking.Nodes = ptr.To("10.3.0.0/16") }, `{"type":"example","pods":"10.1.0.0/16","nodes":"10.3.0.0/16","future":{"a":[1,2.5,"x"]}}`},
		"changed": {func(s *Shoot) { s.Spec.Networking.Pods = ptr.To("10.9.0.0/16") }, `{"type":"example","pods":"10.9.0.0/16","future":{"a":[1,2.5,"x"]}}`},
		"removed": {func(s *Shoot) { s.Spec.Networking.Pods = nil }, `{"type":"example","future":{"a":[1,2.5,"x"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			shoot := &Shoot{}
			g.Expect(json.Unmarshal([]byte(document), shoot)).To(Succeed())
			test.change(shoot)
			again, err := json.Marshal(shoot)
			g.Expect(err).NotTo(HaveOccurred())
			var got struct {
				Spec struct{ Networking json.RawMessage }
			}
			g.Expect(json.Unmarshal(again, &got)).To(Succeed())
			g.Expect(got.Spec.Networking).To(MatchJSON(test.wants))
		})
	}
}

func TestShootsWithoutADocumentAreEncodedAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	made, err := json.Marshal(&Shoot{Spec: ShootSpec{Provider: Provider{Type: "local"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made).To(MatchJSON(`{"metadata":{},"spec":{"kubernetes":{},"provider":{"type":"local"}},"status":{}}`))
}

func TestDecodingNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shoot := &Shoot{}
		if json.Unmarshal(rapid.SliceOf(rapid.Byte()).Draw(t, "document"), shoot) == nil {
			if _, err := json.Marshal(shoot); err != nil {
				t.Fatal(err)
			}
		}
	})
}
