// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Users are not told that calico-node restarts where its pods stay as they are.
func TestRestartsAreToldOnlyWhereCalicoNodeChanges(t *testing.T) {
	families := map[string]option{"IPv4": withNodes(nodeCIDR, nil), "IPv6": ipv6Only, "both families": dualStack}
	for _, base := range []string{"", "overlay: {enabled: false}, "} {
		for _, field := range []string{
			"backend: bird", "ipam: {cidr: USEPODCIDR}", "ipv4: {pool: vxlan}", "ipv4: {mode: Never}", "ipv6: {mode: Always}",
			"ipv6: {sourceNATEnabled: true}", "typha: {enabled: false}", "vethMTU: '1440'", "vethMTU: '+0'", "ebpfDataplane: {enabled: true}",
			"snatToUpstreamDNS: {enabled: false}", "vxlan: {enabled: true}", "wireguardEncryption: true", "birdExporter: {enabled: true}",
			"multus: {enabled: true}", "serviceLoopPrevention: Drop", "ipip: Never", "overlay: {enabled: true}", "overlay: {enabled: false, createPodRoutes: true}",
		} {
			if base != "" && strings.HasPrefix(field, "overlay") {
				continue
			}
			for name, in := range families {
				after := try(t, "{"+base+field+"}", in)
				if len(after.Errors) > 0 { // not for this family
					continue
				}
				expectRestarts(t, name, build(t, "{"+base+"}", in), "{"+base+field+"}", in)
				expectRestarts(t, name, after, "{"+base+"}", in)
			}
		}
	}
}

func expectRestarts(t *testing.T, families string, before *network, config string, in option) {
	t.Helper()
	after := then(before, config, in)
	if len(after.Errors) > 0 || !reflect.DeepEqual(before.node(), after.node()) {
		return
	}
	for _, change := range after.Changes {
		NewWithT(t).Expect(change.Reason).NotTo(ContainSubstring("calico-node restarts"), "%s of %s, to %s", change.Path, families, config)
	}
}
