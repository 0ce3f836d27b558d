// SPDX-License-Identifier: Apache-2.0

package calico_test

import "testing"

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	networks.ExpectDataPaths(t, map[string]string{
		"":                         "IP-in-IP between nodes; routes by BIRD",
		"overlay: {enabled: true}": "IP-in-IP between nodes; routes by BIRD",
		"{overlay: {enabled: true}, vxlan: {enabled: true}}": "VXLAN between nodes; routes by Felix",
		"overlay: {enabled: false}":                          "no encapsulation; routes by the infrastructure",
		"overlay: {enabled: false, createPodRoutes: true}":   "no encapsulation; routes by BIRD",
		"ipv4: {mode: CrossSubnet}":                          "IP-in-IP between subnets, no encapsulation within one; routes by BIRD",
		"backend: none":                                      "no encapsulation; routes by the infrastructure",
		"ipv4: {mode: Never}":                                "no encapsulation; routes by BIRD",
		"{ipv4: {pool: vxlan}, wireguardEncryption: true}":   "VXLAN between nodes; routes by Felix; encrypted with WireGuard",
	})
	// Felix sets VXLAN up by the address pool, so the line and the warnings say the same.
	networks.ExpectDataPaths(t, map[string]string{
		"vxlan: {enabled: true}":            "VXLAN between nodes; routes by Felix",
		"ipv4: {pool: vxlan, mode: Always}": "VXLAN between nodes; routes by Felix",
		"ipv4: {pool: vxlan}":               "no encapsulation; routes by the infrastructure",
	}, onAzure)
	networks.ExpectDataPaths(t, map[string]string{"": "no encapsulation; routes by the infrastructure"}, dualStack)
}
