// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// calicoShoot is a Shoot with Calico, for the program with all its plugins. networking
// and kubernetes are further fields of these sections.
func calicoShoot(config, networking, kubernetes string) string {
	return `apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: mine, namespace: garden-dev}
spec:
  provider: {type: local, workers: [{name: a, maximum: 3}]}
  kubernetes: {version: 1.36.3` + kubernetes + `}
  networking: {type: calico` + networking + `, providerConfig: ` + config + "}\n"
}

// at is where a providerConfig stands in a Shoot.
const at = "spec.networking.providerConfig"

const withoutKubeProxy = ", kubeProxy: {enabled: false}"

// Whatever is wrong, the program says where and ends with status 1: both when it
// is asked whether the network is valid and when it is to print its objects.
func TestBadInputIsRefusedWithItsPath(t *testing.T) {
	deep := strings.Repeat(`{"overlay":`, 90) + "1" + strings.Repeat("}", 90)
	for name, test := range map[string]struct {
		input string
		says  []string
	}{
		"an unknown field":               {calicoShoot("{overlays: {}}", "", ""), []string{at + ".overlays"}},
		"an unknown field further down":  {calicoShoot("{overlay: {enabeld: true}}", "", ""), []string{at + ".overlay.enabeld", "enabled"}},
		"a field in capitals":            {calicoShoot("{Backend: bird}", "", ""), []string{at + ".Backend", "backend"}},
		"a number for a string":          {calicoShoot("{vethMTU: 1440}", "", ""), []string{at + ".vethMTU", "1440", "string"}},
		"a string for a switch":          {calicoShoot("{typha: {enabled: 'yes'}}", "", ""), []string{at + ".typha.enabled", `"yes"`, "true or false"}},
		"a switch for an object":         {calicoShoot("{overlay: true}", "", ""), []string{at + ".overlay", "an object"}},
		"an object for a switch":         {calicoShoot("{wireguardEncryption: {enabled: true}}", "", ""), []string{at + ".wireguardEncryption", "true or false"}},
		"a list for an object":           {calicoShoot("[]", "", ""), []string{at, "an object"}},
		"a string for a config":          {calicoShoot("bird", "", ""), []string{at, "an object"}},
		"a quantity that is none":        {calicoShoot("{autoScaling: {mode: static, resources: {node: {cpu: many}}}}", "", ""), []string{at + ".autoScaling.resources.node.cpu", "many"}},
		"a negative quantity":            {calicoShoot("{autoScaling: {mode: static, resources: {node: {cpu: -1}}}}", "", ""), []string{at + ".autoScaling.resources.node.cpu"}},
		"a field twice":                  {calicoShoot("{backend: bird, backend: none}", "", ""), []string{"backend"}},
		"another plugin's config":        {calicoShoot("{apiVersion: cilium.networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig}", "", ""), []string{at + ".apiVersion", "calico.networking.extensions.gardener.cloud/v1alpha1"}},
		"another kind":                   {calicoShoot("{kind: NetworkStatus}", "", ""), []string{at + ".kind", "NetworkConfig"}},
		"a value that is not allowed":    {calicoShoot("{backend: ipvlan}", "", ""), []string{at + ".backend", "bird", "vxlan"}},
		"an empty value":                 {calicoShoot("{vethMTU: ''}", "", ""), []string{at + ".vethMTU"}},
		"a malformed range":              {calicoShoot("{ipam: {type: host-local, cidr: 100.96.0.0/33}}", "", ""), []string{at + ".ipam.cidr", "100.96.0.0/33"}},
		"malformed ranges of the Shoot":  {calicoShoot("{}", ", pods: 10.0.0.0, services: 10.300.0.0/16", ""), []string{"spec.networking.pods", "spec.networking.services"}},
		"overlapping ranges":             {calicoShoot("{}", ", pods: 10.0.0.0/8, services: 10.1.0.0/16", ""), []string{"spec.networking.services", "overlaps"}},
		"nodes in the range of pods":     {calicoShoot("{}", ", pods: 10.0.0.0/8, services: 172.16.0.0/16, nodes: 10.250.0.0/16", ""), []string{"spec.networking.nodes", "overlaps"}},
		"a range of the other family":    {calicoShoot("{}", ", pods: '2001:db8::/56'", ""), []string{"spec.networking.pods", "IPv4"}},
		"an unknown family":              {calicoShoot("{}", ", ipFamilies: [IPv5]", ""), []string{"spec.networking.ipFamilies[0]"}},
		"a regular expression":           {calicoShoot("{ipv4: {autoDetectionMethod: 'interface=eth('}}", "", ""), []string{at + ".ipv4.autoDetectionMethod"}},
		"another regular expression":     {calicoShoot("{ipAutodetectionMethod: 'skip-interface=*'}", "", ""), []string{at + ".ipAutodetectionMethod"}},
		"an unknown detection":           {calicoShoot("{ipv4: {autoDetectionMethod: 'guess'}}", "", ""), []string{at + ".ipv4.autoDetectionMethod", "first-found"}},
		"IPv6 settings without IPv6":     {calicoShoot("{ipv6: {mode: Never}}", "", ""), []string{at + ".ipv6"}},
		"IPv4 settings without IPv4":     {calicoShoot("{ipv4: {mode: Never}}", ", ipFamilies: [IPv6], pods: '2001:db8:1::/56', services: '2001:db8:2::/112'", ""), []string{at + ".ipv4"}},
		"calico-ipam with IPv6":          {calicoShoot("{ipam: {type: calico-ipam}}", ", ipFamilies: [IPv6], pods: '2001:db8:1::/56', services: '2001:db8:2::/112'", ""), []string{at + ".ipam.type"}},
		"no kube-proxy and no eBPF":      {calicoShoot("{}", "", withoutKubeProxy), []string{"spec.kubernetes.kubeProxy.enabled", "ebpfDataplane.enabled"}},
		"no kube-proxy and eBPF off":     {calicoShoot("{ebpfDataplane: {enabled: false}}", "", withoutKubeProxy), []string{"spec.kubernetes.kubeProxy.enabled", "ebpfDataplane.enabled"}},
		"a megabyte of junk for a value": {calicoShoot("{backend: "+strings.Repeat("x", 1<<20)+"}", "", ""), []string{at + ".backend"}},
		"a megabyte of junk for a name":  {calicoShoot("{? "+strings.Repeat("x", 1<<20)+" : 1}", "", ""), []string{at}},
		"thousands of unknown fields":    {calicoShoot("{"+manyFields(5000)+"}", "", ""), []string{at + ".a0"}},
		"nesting":                        {calicoShoot(deep, "", ""), []string{at + ".overlay.overlay"}},
		"too deep nesting":               {calicoShoot(strings.Repeat("[", 5000)+strings.Repeat("]", 5000), "", ""), []string{"<stdin>"}},
	} {
		for _, command := range []string{"validate", "render"} {
			t.Run(name+"/"+command, func(t *testing.T) {
				g := NewWithT(t)
				var stdout, stderr bytes.Buffer
				streams := cli.Streams{In: strings.NewReader(test.input), Out: &stdout, Err: &stderr}
				exit := cli.Run([]string{command, "-f", "-"}, streams, plugins.All(), providers.All())
				said := stdout.String() + stderr.String()
				g.Expect(exit).To(Equal(cli.ExitInvalid), said)
				for _, part := range test.says {
					g.Expect(said).To(ContainSubstring(part))
				}
				g.Expect(len(said)).To(BeNumerically("<", 16<<10))
				if command == "render" {
					g.Expect(stdout.String()).To(BeEmpty())
				}
			})
		}
	}
}

func manyFields(count int) string {
	var fields strings.Builder
	for i := range count {
		fmt.Fprintf(&fields, "a%d: 1, ", i)
	}
	return fields.String()
}
