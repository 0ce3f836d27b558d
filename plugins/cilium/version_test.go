// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/built"
)

const version = "1.19.7"

// A setting that Cilium ignores would mislead readers of the ConfigMap.
func TestNoSettingThatCiliumHasRemoved(t *testing.T) {
	g := NewWithT(t)
	told := build(t, "egressGateway: {enabled: true}", withoutKubeProxy).data("cilium-config")
	g.Expect(told).To(HaveKeyWithValue("enable-egress-gateway", "true"))
	g.Expect(told).NotTo(HaveKey("enable-ipv4-egress-gateway"))
}

func TestImagesAreOfTheVersionThatSettingsAreFor(t *testing.T) {
	g := NewWithT(t)
	g.Expect(strings.Count(built.File(t, "images.yaml"), "tag: v"+version)).To(Equal(3), "agent, operator and relay are released together")
	g.Expect(built.File(t, "version.go")).To(ContainSubstring("the version of Cilium, which is " + version + "."))
	g.Expect(built.File(t, "README.md")).To(ContainSubstring("[Cilium](https://docs.cilium.io) " + version + " "))
}
