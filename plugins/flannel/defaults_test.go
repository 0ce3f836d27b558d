// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestEveryDefaultIsExplicit(t *testing.T) {
	NewWithT(t).Expect(build(t, "").Config).To(MatchJSON(`{
		"apiVersion": "flannel.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig",
		"backend": {"type": "vxlan", "port": 8472, "vni": 1, "directRouting": false},
		"ipFamilies": ["IPv4"], "nftables": false,
		"resources": {"requests": {"cpu": "100m", "memory": "50Mi"}}}`))
}

func TestOriginsTellWhereValuesComeFrom(t *testing.T) {
	for _, test := range []struct{ config, path, want string }{
		{"", "backend.type", "default"},
		{"backend: {type: vxlan}", "backend.type", "user"},
		{"", "backend.port", "default"},
		{"", "ipFamilies", "rule: the network has these IP families"},
		{"ipFamilies: [IPv4]", "ipFamilies", "user"},
		{"resources: {requests: {cpu: 1}}", "resources.requests.cpu", "user"},
		{"resources: {requests: {cpu: 1}}", "resources.requests.memory", "default"},
	} {
		t.Run(test.config+" "+test.path, func(t *testing.T) {
			NewWithT(t).Expect(build(t, test.config).Origins[test.path].String()).To(Equal(test.want))
		})
	}
}
