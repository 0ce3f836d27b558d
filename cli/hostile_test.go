// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
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
  provider: {type: aws, workers: [{name: a, maximum: 3}]}
  kubernetes: {version: 1.36.3` + kubernetes + `}
  networking: {type: calico` + networking + `, providerConfig: ` + config + "}\n"
}

// at is where a providerConfig stands in a Shoot.
const at = "spec.networking.providerConfig"

const withoutKubeProxy = ", kubeProxy: {enabled: false}"

// fineShoot is a file with a Shoot in which nothing is wrong.
func fineShoot(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fine.yaml")
	NewWithT(t).Expect(os.WriteFile(name, []byte(calicoShoot("{}", "", "")), 0o600)).To(Succeed())
	return name
}

// Whatever is wrong, the program says where and ends with status 1: when it is asked
// whether the network is valid, when it is to print its objects, and when it plans.
func TestBadInputIsRefusedWithItsPath(t *testing.T) {
	fine := fineShoot(t)
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
		"nodes in the range of Services": {calicoShoot("{}", ", pods: 172.16.0.0/16, services: 10.0.0.0/8, nodes: 10.250.0.0/16", ""), []string{"spec.networking.nodes", "overlaps"}},
		"a range of the other family":    {calicoShoot("{}", ", pods: '2001:db8::/56'", ""), []string{"spec.networking.pods", "IPv4"}},
		"an unknown family":              {calicoShoot("{}", ", ipFamilies: [IPv5]", ""), []string{"spec.networking.ipFamilies[0]"}},
		"a regular expression":           {calicoShoot("{ipv4: {autoDetectionMethod: 'interface=eth('}}", "", ""), []string{at + ".ipv4.autoDetectionMethod"}},
		"another regular expression":     {calicoShoot("{ipAutodetectionMethod: 'skip-interface=*'}", "", ""), []string{at + ".ipAutodetectionMethod"}},
		"an unknown detection":           {calicoShoot("{ipv4: {autoDetectionMethod: 'guess'}}", "", ""), []string{at + ".ipv4.autoDetectionMethod", "first-found"}},
		"IPv6 settings without IPv6":     {calicoShoot("{ipv6: {mode: Never}}", "", ""), []string{at + ".ipv6"}},
		"IPv6 ranges that overlap":       {calicoShoot("{}", ", ipFamilies: [IPv6], pods: '2001:db8::/32', services: '2001:db8:2::/112'", ""), []string{"spec.networking.services", "overlaps with the pods' range 2001:db8::/32"}},
		"IPv4 settings without IPv4":     {calicoShoot("{ipv4: {mode: Never}}", ", ipFamilies: [IPv6], pods: '2001:db8:1::/56', services: '2001:db8:2::/112'", ""), []string{at + ".ipv4"}},
		"calico-ipam with IPv6":          {calicoShoot("{ipam: {type: calico-ipam}}", ", ipFamilies: [IPv6], pods: '2001:db8:1::/56', services: '2001:db8:2::/112'", ""), []string{at + ".ipam.type"}},
		"no kube-proxy and no eBPF":      {calicoShoot("{}", "", withoutKubeProxy), []string{"spec.kubernetes.kubeProxy.enabled", "ebpfDataplane.enabled"}},
		"no kube-proxy and eBPF off":     {calicoShoot("{ebpfDataplane: {enabled: false}}", "", withoutKubeProxy), []string{"spec.kubernetes.kubeProxy.enabled", "ebpfDataplane.enabled"}},
		"a megabyte of junk for a value": {calicoShoot("{backend: "+strings.Repeat("x", 1<<20)+"}", "", ""), []string{at + ".backend", "bird, none, vxlan"}},
		"a megabyte of junk for a name":  {calicoShoot("{? "+strings.Repeat("x", 1<<20)+" : 1}", "", ""), []string{at}},
		"thousands of unknown fields":    {calicoShoot("{"+manyFields(5000)+"}", "", ""), []string{at + ".a0"}},
		"nesting":                        {calicoShoot(deep, "", ""), []string{at + ".overlay.overlay"}},
		"too deep nesting":               {calicoShoot(strings.Repeat("[", 5000)+strings.Repeat("]", 5000), "", ""), []string{"<stdin>"}},

		"a null byte in a value":           {calicoShoot(`{backend: "bi\0rd"}`, "", ""), []string{at + ".backend", "bird, none, vxlan"}},
		"a negative number":                {calicoShoot("{vethMTU: -1}", "", ""), []string{at + ".vethMTU", "-1", "string"}},
		"a negative number in quotes":      {calicoShoot(`{vethMTU: "-1"}`, "", ""), []string{at + ".vethMTU", "not negative"}},
		"a huge number":                    {calicoShoot(`{vethMTU: "`+strings.Repeat("9", 30)+`"}`, "", ""), []string{at + ".vethMTU", "decimal number"}},
		"a number that is infinite":        {calicoShoot("{vethMTU: .inf}", "", ""), []string{at + ".vethMTU", "infinite"}},
		"a word that YAML takes for false": {calicoShoot("{ipv4: {mode: Off}}", "", ""), []string{at + ".ipv4.mode", "write it in quotes"}},
		"a version that is a number":       {strings.Replace(calicoShoot("{}", "", ""), "1.36.3", "1.36", 1), []string{"spec.kubernetes.version", "1.36", "write it in quotes"}},
		"a key that is an object":          {calicoShoot("{? {a: b} : c}", "", ""), []string{"document 1", "invalid map key"}},
		"a key that is null":               {calicoShoot("{~: c}", "", ""), []string{at, "a key must be a string"}},
		"a key like a path":                {calicoShoot(`{"overlay.enabled": true}`, "", ""), []string{at + "[overlay.enabled]"}},
		"an anchor for a wrong place":      {calicoShoot("{overlay: &on {enabled: true}, backend: *on}", "", ""), []string{at + ".backend", "must be a string"}},
		"an alias of nothing":              {calicoShoot("{overlay: *on}", "", ""), []string{"document 1", "unknown anchor"}},
		"text after the end":               {`{"apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot"} junk`, []string{"document 1", "more follows"}},
		"workers by the billion":           {calicoShootOn("[{name: a, maximum: 99999999999}]"), []string{"spec.provider.workers[0].maximum", "2147483647"}},
		"no workers":                       {calicoShootOn("[]"), []string{"spec.provider.workers", "has no pod network"}},
		"no networking":                    {strings.Replace(calicoShoot("{}", "", ""), "networking:", "other:", 1), []string{"spec.networking.type", "calico"}},
		"kube-proxy in words":              {calicoShoot("{}", "", ", kubeProxy: {enabled: 'off'}"), []string{"spec.kubernetes.kubeProxy.enabled", "true or false"}},
		"another version of Shoots":        {strings.Replace(calicoShoot("{}", "", ""), "v1beta1", "v1", 1), []string{"document 1", "core.gardener.cloud/v1beta1"}},
		"the config by another name":       {calicoShoot("{apiVersion: calico.networking.extensions.gardener.cloud/v1beta1}", "", ""), []string{at + ".apiVersion", "/v1alpha1"}},
		"a status of nonsense":             {calicoShoot("{}", "", "") + "status: {networking: {pods: [junk]}}\n", []string{"spec.networking.pods", "junk"}},
		"bytes that are no UTF-8":          {calicoShoot("{}", "", "") + "# caf\xe9\n", []string{"UTF-8", "0xe9"}},
		"a stream of nothing":              {"---\n---\n", []string{"has no document"}},
		"one Shoot twice":                  {calicoShoot("{}", "", "") + "---\n" + calicoShoot("{}", "", ""), []string{"document 2", "two Shoots"}},
		"a regular expression that grows":  {calicoShoot(`{ipv4: {autoDetectionMethod: "interface=((((a{1000}){1000}){1000}){1000})"}}`, "", ""), []string{at + ".ipv4.autoDetectionMethod", "compiles"}},
	} {
		for command, args := range map[string][]string{
			"validate": {"validate", "-f", "-"}, "render": {"render", "-f", "-"}, "plan": {"plan", fine, "-"}, "plan from": {"plan", "-", fine},
		} {
			t.Run(name+"/"+command, func(t *testing.T) {
				g := NewWithT(t)
				var stdout, stderr bytes.Buffer
				streams := cli.Streams{In: strings.NewReader(test.input), Out: &stdout, Err: &stderr}
				exit := cli.Run(args, streams, plugins.All(), providers.All())
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

// calicoShootOn is a Shoot with Calico and these workers.
func calicoShootOn(workers string) string {
	return strings.Replace(calicoShoot("{}", "", ""), "[{name: a, maximum: 3}]", workers, 1)
}

// Users neither wait for the answer nor scroll.
func TestAMegabyteOfJunkIsRefused(t *testing.T) {
	fine := fineShoot(t)
	for name, input := range junk(1 << 20) {
		for _, args := range [][]string{{"render", "-f", "-"}, {"render", "--request", "-"}, {"plan", "-o", "json", fine, "-"}} {
			t.Run(name+"/"+strings.Join(args[:2], " "), func(t *testing.T) {
				g := NewWithT(t)
				var stdout, stderr bytes.Buffer
				streams := cli.Streams{In: strings.NewReader(input), Out: &stdout, Err: &stderr}
				g.Expect(cli.Run(args, streams, plugins.All(), providers.All())).To(Equal(cli.ExitInvalid), stderr.String())
				if args[0] == "render" {
					g.Expect(stdout.String()).To(BeEmpty())
				}
				g.Expect(stdout.Len() + stderr.Len()).To(BeNumerically("<", 64<<10))
			})
		}
	}
}

// junk are inputs of about so many bytes. With a million of them the test's time limit
// is over where each part of one costs as much as all of it.
func junk(size int) map[string]string {
	return map[string]string{
		"of an expression":    calicoShoot(`{ipv4: {autoDetectionMethod: "interface=`+strings.Repeat("a?", size/2)+`"}}`, "", ""),
		"of a value":          calicoShoot("{backend: "+strings.Repeat("x", size)+"}", "", ""),
		"of unknown fields":   calicoShoot("{"+manyFields(size/12)+"}", "", ""),
		"of resources":        calicoShoot("{autoScaling: {mode: static, resources: {node: {"+manyFields(size/12)+"}}}}", "", ""),
		"of lists":            calicoShoot("["+strings.Repeat("[],", size/3)+"]", "", ""),
		"of nested objects":   calicoShoot("["+strings.Repeat(strings.Repeat("{a: ", 90)+"1"+strings.Repeat("}", 90)+",", size/450)+"]", "", ""),
		"of workers":          calicoShootOn("[" + strings.Repeat("{name: 1, maximum: a},", size/22) + "]"),
		"of families":         calicoShoot("{}", ", ipFamilies: ["+strings.Repeat("IPv5,", size/5)+"]", ""),
		"of ranges":           calicoShoot("{}", ", nodes: 10.250.0.0/16", "") + "status: {networking: {nodes: [" + strings.Repeat("junk,", size/5) + "]}}\n",
		"of Shoots":           strings.Repeat(calicoShoot("{backend: x}", "", "")+"---\n", 999),
		"of JSON":             strings.Repeat(`{"apiVersion":"v1","kind":"Pod"}`, 999),
		"of a List":           `{"apiVersion":"v1","kind":"List","items":[` + strings.Repeat(`{"kind":"Pod"},`, size/15) + "{}]}",
		"of a Network":        network("net", "ns", "{}") + manyLines(size/14),
		"that is not text":    strings.Repeat("\xff", size),
		"of comments":         strings.Repeat("# nothing\n", size/10),
		"of aliases":          "a: &a " + strings.Repeat("x", 100) + "\nb: [" + strings.Repeat("*a,", size/3) + "]\n",
		"of merged objects":   "a: &a {b: 1}\nc: [" + strings.Repeat("{<<: *a},", size/9) + "]\n",
		"of errors in JSON":   `{"a":` + strings.Repeat(`{"b":1,"b":2,"c":`, 90) + "1" + strings.Repeat("}", 90) + strings.Repeat(`,"b":1`, size/6) + "}",
		"of spaces":           strings.Repeat(" ", size) + "a: 1\n",
		"of backslashes":      `{"a": "` + strings.Repeat(`\\`, size/2) + `"}`,
		"of percent signs":    strings.Repeat("%", size),
		"of document markers": strings.Repeat("--- {}\n", size/7),
	}
}

func manyLines(count int) string {
	var lines strings.Builder
	for i := range count {
		fmt.Fprintf(&lines, "  a%d: 1\n", i)
	}
	return lines.String()
}

func manyFields(count int) string {
	var fields strings.Builder
	for i := range count {
		fmt.Fprintf(&fields, "a%d: 1, ", i)
	}
	return fields.String()
}
