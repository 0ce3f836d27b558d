// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// step is what of a step differs from the others.
type step struct {
	name, backend string
	direct        bool
	mtu           int
}

func TestStepsBetweenVXLANAndHostGateway(t *testing.T) {
	const hostGateway = "backend: {type: host-gw}"
	for _, test := range []struct {
		before, after string
		want          []step
	}{
		{"", hostGateway, []step{{"VXLAN between subnets", "vxlan", true, 0}, {"no encapsulation", "host-gw", false, 0}}},
		{hostGateway, "", []step{{"VXLAN between subnets", "vxlan", true, 0}, {"VXLAN between all nodes", "vxlan", false, 0}}},
		{hostGateway, "backend: {directRouting: true}", nil},
		{"backend: {directRouting: true}", hostGateway, nil},
		{"", "backend: {directRouting: true}", nil},
		{"", "backend: {port: 4789}", nil},
		{"", "mtu: 1400", nil},
		{hostGateway + "\nmtu: 1500", "mtu: 1500", []step{
			{"a smaller MTU of pods", "host-gw", false, 1450}, {"VXLAN between subnets", "vxlan", true, 1500}, {"VXLAN between all nodes", "vxlan", false, 1500}}},
		{"mtu: 1500", hostGateway + "\nmtu: 1500", []step{
			{"VXLAN between subnets", "vxlan", true, 1500}, {"no encapsulation, and still the smaller MTU of pods", "host-gw", false, 1450}, {"no encapsulation", "host-gw", false, 1500}}},
		{hostGateway + "\nmtu: 600", "mtu: 600", []step{{"VXLAN between subnets", "vxlan", true, 600}, {"VXLAN between all nodes", "vxlan", false, 600}}},
		{"mtu: 9000", hostGateway + "\nnftables: true", []step{{"VXLAN between subnets", "vxlan", true, 9000}, {"no encapsulation", "host-gw", false, 0}}},
		{"", "backend: {type: host-gw}\nipFamilies: [IPv4]", []step{{"VXLAN between subnets", "vxlan", true, 0}, {"no encapsulation", "host-gw", false, 0}}},
	} {
		t.Run(fmt.Sprintf("from %s to %s", test.before, test.after), func(t *testing.T) {
			g := NewWithT(t)
			n := changed(t, test.before, test.after)
			g.Expect(n.Errors).To(BeEmpty())
			g.Expect(n.NotInSteps).To(BeNil())
			if test.want == nil {
				g.Expect(n.Transition.IsNeeded()).To(BeFalse())
				return
			}
			g.Expect(n.Transition).NotTo(BeNil())
			var steps []step
			for _, each := range n.Transition.Steps {
				var config struct {
					Backend struct {
						Type          string
						DirectRouting bool
					}
					MTU int
				}
				g.Expect(json.Unmarshal(each.Config, &config)).To(Succeed())
				steps = append(steps, step{each.Name, config.Backend.Type, config.Backend.DirectRouting, config.MTU})
			}
			g.Expect(steps).To(Equal(test.want))
		})
	}
}
