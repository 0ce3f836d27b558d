// SPDX-License-Identifier: Apache-2.0

package flannel_test

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
		{config: "", path: "VXLAN between nodes; routes by flannel"},
		{config: "backend: {type: host-gw}", path: "no encapsulation; routes by flannel"},
		{config: "backend: {directRouting: true}", path: "VXLAN between subnets, no encapsulation within one; routes by flannel"},
	} {
		NewWithT(t).Expect(networks.DataPath(t, test.config, test.options...)).To(Equal(test.path), test.config)
	}
}
