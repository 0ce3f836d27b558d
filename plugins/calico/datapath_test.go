// SPDX-License-Identifier: Apache-2.0

package calico_test

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
		{config: "", path: "IP-in-IP between nodes; routes by BIRD"},
		{config: "overlay: {enabled: true}", path: "IP-in-IP between nodes; routes by BIRD"},
		{config: "{overlay: {enabled: true}, vxlan: {enabled: true}}", path: "VXLAN between nodes; routes by Felix"},
		{config: "overlay: {enabled: false}", path: "no encapsulation; routes by the infrastructure"},
		{config: "overlay: {enabled: false, createPodRoutes: true}", path: "no encapsulation; routes by BIRD"},
		{config: "ipv4: {mode: CrossSubnet}", path: "IP-in-IP between subnets, no encapsulation within one; routes by BIRD"},
		{config: "backend: none", path: "no encapsulation; routes by the infrastructure"},
		{config: "ipv4: {mode: Never}", path: "no encapsulation; routes by BIRD"},
		{config: "{ipv4: {pool: vxlan}, wireguardEncryption: true}", path: "VXLAN between nodes; routes by Felix; encrypted with WireGuard"},
		{options: []option{dualStack}, path: "no encapsulation; routes by the infrastructure"},
	} {
		NewWithT(t).Expect(networks.DataPath(t, test.config, test.options...)).To(Equal(test.path), test.config)
	}
}
