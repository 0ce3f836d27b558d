// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAddressPoolsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "overlay: {enabled: false}")
	g.Expect(n.Spec("IPPool", "default-ipv4-ippool")).To(Equal(map[string]any{
		"allowedUses": []any{"Workload", "Tunnel"}, "blockSize": int64(26), "cidr": podCIDR,
		"ipipMode": "Never", "vxlanMode": "Never", "natOutgoing": true, "nodeSelector": "all()",
	}))
	g.Expect(n.Spec("IPPool", "no-snat-for-node-cidr")).To(Equal(map[string]any{
		"cidr": nodeCIDR, "disabled": true, "disableBGPExport": true,
	}))
}
