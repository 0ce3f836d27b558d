// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheMTUChangesBeforeEncryptionComesAndAfterItIsGone(t *testing.T) {
	type step struct {
		name, mtu string
		encrypts  bool
	}
	const on = ", wireguardEncryption: true}"
	for _, test := range []struct {
		before, after string
		want          []step
	}{
		{`{vethMTU: "1500"}`, `{vethMTU: "1440"` + on, []step{{"the smaller MTU of pods", "1440", false}, {"encryption", "1440", true}}},
		{`{vethMTU: "1440"` + on, `{vethMTU: "1500"}`, []step{{"no encryption, and still the smaller MTU of pods", "1440", false}, {"the greater MTU of pods", "1500", false}}},
		{`{vethMTU: "1440"}`, `{vethMTU: "1440"` + on, nil},
		{`{vethMTU: "1440"}`, `{vethMTU: "1500"` + on, nil}, // what the user wants
		{`{}`, `{vethMTU: "1440"` + on, nil},                // each node finds out
		{`{vethMTU: "1500"}`, `{vethMTU: "1440"}`, nil},
		{"overlay: {enabled: true}", "overlay: {enabled: false}", nil},
	} {
		t.Run(fmt.Sprintf("from %s to %s", test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.NotInSteps).To(BeNil())
			var steps []step
			if n.Transition != nil {
				for _, each := range n.Transition.Steps {
					var config struct {
						VethMTU             string
						WireguardEncryption bool
					}
					g.Expect(json.Unmarshal(each.Config, &config)).To(Succeed())
					steps = append(steps, step{each.Name, config.VethMTU, config.WireguardEncryption})
				}
			}
			g.Expect(steps).To(Equal(test.want))
		})
	}
}
