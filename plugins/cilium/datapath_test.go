// SPDX-License-Identifier: Apache-2.0

package cilium_test

import "testing"

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	networks.ExpectDataPaths(t, map[string]string{
		"":                          "VXLAN between nodes; routes by Cilium's agents",
		"tunnel: geneve":            "Geneve between nodes; routes by Cilium's agents",
		"overlay: {enabled: false}": "no encapsulation; routes by the infrastructure",
		"overlay: {enabled: false, createPodRoutes: true}": "no encapsulation; routes by Cilium's agents",
		"encryption: {enabled: true, mode: wireguard}":     "VXLAN between nodes; routes by Cilium's agents; encrypted with WireGuard",
	})
}
