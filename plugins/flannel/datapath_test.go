// SPDX-License-Identifier: Apache-2.0

package flannel_test

import "testing"

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	networks.ExpectDataPaths(t, map[string]string{
		"":                               "VXLAN between nodes; routes by flannel; NetworkPolicies have no effect",
		"backend: {type: host-gw}":       "no encapsulation; routes by flannel; NetworkPolicies have no effect",
		"backend: {directRouting: true}": "VXLAN between subnets, no encapsulation within one; routes by flannel; NetworkPolicies have no effect",
	})
}
