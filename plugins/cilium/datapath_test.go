// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestUsersAreToldHowPacketsTravel(t *testing.T) {
	for _, test := range []struct {
		config  string
		options []option
		path    string
	}{
		{config: "", path: "VXLAN between nodes; routes by Cilium's agents"},
		{config: "tunnel: geneve", path: "Geneve between nodes; routes by Cilium's agents"},
		{config: "overlay: {enabled: false}", path: "no encapsulation; routes by the infrastructure"},
		{config: "overlay: {enabled: false, createPodRoutes: true}", path: "no encapsulation; routes by Cilium's agents"},
		{config: "encryption: {enabled: true, mode: wireguard}", path: "VXLAN between nodes; routes by Cilium's agents; encrypted with WireGuard"},
	} {
		NewWithT(t).Expect(networks.DataPath(t, test.config, test.options...)).To(Equal(test.path), test.config)
	}
}
