// SPDX-License-Identifier: Apache-2.0

// Package seeds_test shows what a user is told who tries what Gardener's documents about networks
// show: each of their manifests and snippets is accepted, or refused with a remedy that works.
// The data here are our own, and have what matters in those documents: fields, values,
// placeholders and what is left out. The folder examples has most of them as whole manifests.
package seeds_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/cli"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// validate returns what trellis validate says of a text, and whether it is valid.
func validate(text string, flags ...string) (valid bool, report string) {
	var out bytes.Buffer
	args := append([]string{"validate", "-f", "-"}, flags...)
	exit := cli.Run(args, cli.Streams{In: strings.NewReader(text), Out: &out, Err: &out}, plugins.All(), providers.All())
	return exit == cli.ExitOK, out.String()
}

// remedy is what a refusal says, and what its reader does about it.
type remedy struct{ says, replace, with string }

// What the documents' Shoots leave out, with workers on an infrastructure with routes.
const rest = `
  provider: {type: aws, infrastructureConfig: {networks: {vpc: {cidr: 10.250.0.0/16}}}, workers: [{name: one, maximum: 2}]}
  kubernetes: {version: 1.36.3}`

// withDots is a Shoot that shows its networking only, and lines of dots for the rest.
func withDots(config string) string {
	return "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata:\n...\nspec:\n...\n" +
		"  networking:\n    type: calico\n    providerConfig: {" + config + "}\n  ...\n"
}

// fillIn replaces the dots one after the other.
var fillIn = []remedy{
	{"if lines with ... stand for something, write that instead, or remove them", "metadata:\n...\n", "metadata: {name: filled-in}\n"},
	{"if lines with ... stand for something, write that instead, or remove them", "spec:\n...\n", "spec:" + rest + "\n"},
	{"if lines with ... stand for something, write that instead, or remove them", "  ...\n", ""},
}

const quoted = "must be a string, not a number; write it in quotes"

func network(spec string) string {
	return "apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Network\nmetadata: {name: net}\nspec: {" + spec + "}\n"
}

func calicoConfig(fields string) string {
	return "{apiVersion: calico.networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig, " + fields + "}"
}

func TestWhatTheDocumentsShowIsAcceptedOrRefusedWithARemedyThatWorks(t *testing.T) {
	for _, test := range []struct {
		name, text string
		flags      []string
		remedies   []remedy
		// says is part of the report in the end, when all is valid.
		says string
	}{
		{name: "the proposal's Network, with the older group, clusterCIDR and a status of placeholders",
			text: network("type: calico, clusterCIDR: 192.168.0.0/24, serviceCIDR: 10.96.0.0/24, providerConfig: "+
				"{apiVersion: calico.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig, ipam: {type: host-local, cidr: usePodCIDR}, backend: bird, typha: {enabled: true}}") +
				"status: {observedGeneration: ..., state: ..., lastError: .., lastOperation: ..., providerStatus: {connectivityTests: {pods: true}}}\n",
			says: "IP-in-IP between nodes; routes by BIRD"},
		{name: "the proposal's Network of a type and an infrastructure",
			text: network("type: calico, cloudProvider: {aws,azure,...}"),
			remedies: []remedy{
				{"spec.cloudProvider: Invalid value", "{aws,azure,...}", "azure"},
				{"spec.podCIDR: Required value: write an IP range such as", "cloudProvider", "podCIDR: 100.96.0.0/11, cloudProvider"},
				{"spec.serviceCIDR: Required value: write an IP range such as", "cloudProvider", "serviceCIDR: 100.64.0.0/13, cloudProvider"},
			},
			says: "no encapsulation; routes by the cloud-controller-manager"},
		{name: "a third party's Network", text: network("type: gardenet, podCIDR: 100.244.0.0/16, serviceCIDR: 100.32.0.0/13, providerConfig: " +
			"{apiVersion: gardenet.networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig, gardenetCustomConfigField: <value>}"),
			remedies: []remedy{
				{`supported values: "calico", "cilium", "flannel"`, "type: gardenet", "type: calico"},
				{"calico.networking.extensions.gardener.cloud/v1alpha1", "gardenet.networking", "calico.networking"},
				{"gardenetCustomConfigField", ", gardenetCustomConfigField: <value>", ""},
			},
			says: "valid (calico)"},
		{name: "a Network without overlay", text: network("type: calico, clusterCIDR: 192.168.0.0/24, serviceCIDR: 10.96.0.0/24, providerConfig: " + calicoConfig("overlay: {enabled: false}")),
			says: "no encapsulation; routes by the infrastructure"},
		{name: "a Network of Cilium with an empty config", text: network("type: cilium, podCIDR: 10.244.0.0/16, serviceCIDR: 10.96.0.0/24, " +
			"providerConfig: {apiVersion: cilium.networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig}"),
			says: "VXLAN between nodes; routes by Cilium's agents"},

		{name: "a Shoot with an overlay", text: withDots("overlay: {enabled: true}"), remedies: fillIn, says: "IP-in-IP between nodes; routes by BIRD"},
		{name: "a Shoot without overlay", text: withDots("overlay: {enabled: false}"), remedies: fillIn, says: "no encapsulation; routes by the aws-custom-route-controller"},
		{name: "a Shoot with VXLAN", text: withDots("overlay: {enabled: true}, vxlan: {enabled: true}"), remedies: fillIn, says: "VXLAN between nodes; routes by Felix"},
		{name: "a Shoot of which only kube-proxy is shown",
			text: "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: ebpf}\nspec:\n  kubernetes: {kubeProxy: {enabled: false}}\n",
			remedies: []remedy{
				{"spec.provider.workers: Required value", "spec:", "spec:\n  provider: {type: aws, workers: [{name: one, maximum: 2}]}"},
				{"spec.networking.type: Required value: name the network plugin", "spec:", "spec:\n  networking: {type: calico}"},
				{"unless ebpfDataplane.enabled of the network's providerConfig is true", "{type: calico}", "{type: calico, providerConfig: {ebpfDataplane: {enabled: true}}}"},
			},
			says: "shoot default/ebpf: valid (calico"},
		{name: "the Azure Shoot with a number for the MTU",
			text: "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: azure}\nspec:\n" +
				"  provider: {type: azure, infrastructureConfig: {networks: {vnet: {cidr: 10.250.0.0/16}, workers: 10.250.0.0/19}}, workers: [{name: one, minimum: 2, maximum: 2}]}\n" +
				"  kubernetes: {version: 1.28.3}\n  networking: {type: calico, nodes: 10.250.0.0/16, providerConfig: " +
				calicoConfig("ipam: {type: host-local}, vethMTU: 1440, overlay: {enabled: true}, typha: {enabled: false}") + "}\n",
			remedies: []remedy{{"providerConfig.vethMTU: Invalid value: 1440: " + quoted, "1440", `"1440"`}},
			says:     "VXLAN between nodes; routes by Felix"},
		{name: "the AWS Shoot of Cilium that ends with dots",
			text: "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: aws}\nspec:\n  networking:\n    type: cilium\n" +
				"    providerConfig: {hubble: {enabled: true}}\n    services: 100.64.0.0/13\n  ...\n",
			remedies: []remedy{{"if lines with ... stand for something, write that instead, or remove them", "\n  ...\n", rest + "\n"}},
			says:     "no encapsulation; routes by the aws-custom-route-controller"},

		{name: "Calico's config with eBPF", text: calicoConfig("ebpfDataplane: {enabled: true}, overlay: {enabled: false}"),
			flags: []string{"--kube-proxy=false", "--provider", "aws", "--kubernetes-version", "1.36.3"}, says: "routes by the aws-custom-route-controller"},
		{name: "Calico's config with the vertical pod autoscaler", text: calicoConfig("autoScaling: {mode: vpa}"),
			flags: []string{"--vertical-pod-autoscaler"}, says: "valid (calico)\n"},
		{name: "the same where the flag is forgotten", text: calicoConfig("autoScaling: {mode: vpa}"),
			says: "vpa is not in force, cluster-proportional is: the Shoot has no vertical pod autoscaler"},
		{name: "Calico's config with fixed resources", text: calicoConfig("autoScaling: {mode: static, resources: {node: {cpu: 100m, memory: 100Mi}, typha: {cpu: 100m, memory: 100Mi}}}"),
			says: "valid (calico)\n"},
		{name: "Calico's example config", text: calicoConfig("ipam: {type: host-local, cidr: usePodCIDR}, vethMTU: 1440, typha: {enabled: true}, overlay: {enabled: true}, autoScaling: {mode: vpa}"),
			flags:    []string{"--vertical-pod-autoscaler"},
			remedies: []remedy{{"providerConfig.vethMTU: Invalid value: 1440: " + quoted, "1440", `"1440"`}},
			says:     "IP-in-IP between nodes; routes by BIRD"},
		{name: "Cilium's example config", text: "apiVersion: cilium.networking.extensions.gardener.cloud/v1alpha1\nkind: NetworkConfig\nhubble: {enabled: true}\n#tunnel: vxlan\n",
			says: "VXLAN between nodes; routes by Cilium's agents"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			text := test.text
			for _, step := range test.remedies {
				valid, report := validate(text, test.flags...)
				g.Expect(valid).To(BeFalse(), text)
				g.Expect(report).To(ContainSubstring(step.says), text)
				if strings.Contains(step.says, "...") {
					g.Expect(strings.Count(report, "error: ")).To(Equal(1), "what the dots stand for is not missing:\n%s", report)
				}
				g.Expect(text).To(ContainSubstring(step.replace), "the remedy has nothing to replace")
				text = strings.Replace(text, step.replace, step.with, 1)
			}
			valid, report := validate(text, test.flags...)
			g.Expect(valid).To(BeTrue(), "%s\n%s", text, report)
			g.Expect(report).To(ContainSubstring(test.says))
		})
	}
}

// The documents also show what is no network. A user who validates it learns what to provide.
func TestWhatIsNoNetworkIsRefusedWithWhatToProvide(t *testing.T) {
	const provide = "provide Networks and Clusters (extensions.gardener.cloud/v1alpha1), Shoots (core.gardener.cloud/v1beta1), NetworkConfigs"
	for text, says := range map[string]string{
		"apiVersion: v1\nkind: Config\nusers: [{name: garden, user: {tokenFile: /token}}]":                         "Config of v1 is not supported; " + provide,
		"apiVersion: core.gardener.cloud/v1beta1\nkind: ControllerDeployment\ntype: helm":                          "ControllerDeployment of core.gardener.cloud/v1beta1 is not supported; " + provide,
		"apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Infrastructure\nspec: {type: aws}":                  "Infrastructure of extensions.gardener.cloud/v1alpha1 is no network; provide the Shoot, and write this spec.providerConfig into its spec.provider.infrastructureConfig",
		"apiVersion: apps/v1\nkind: Deployment\n...\nspec: {}\n...":                                                "if lines with ... stand for something, write that instead, or remove them",
		"apiVersion: crd.projectcalico.org/v1\nkind: FelixConfiguration\nmetadata:\n  ...\n  name: default\n  ...": "if lines with ... stand for something, write that instead, or remove them",
		"status: {lastOperation: {state: Succeeded}, observedGeneration: 1}":                                       "has no apiVersion or no kind; " + provide,
		"spec: {kubernetes: {kubeProxy: {enabled: false}}}":                                                        "has no apiVersion or no kind; " + provide,
		"- --cloud-provider=external\n- --cloud-config=/etc/cloud.conf":                                            "is not an object: a manifest begins with apiVersion and kind",
	} {
		t.Run(says, func(t *testing.T) {
			g := NewWithT(t)
			valid, report := validate(text)
			g.Expect(valid).To(BeFalse())
			g.Expect(report).To(ContainSubstring(says))
		})
	}
}

// Azure has no IP-in-IP, so a cluster whose Shoot says nothing of an overlay gets backend none there.
// In a new Shoot, trellis-admission states that there is no overlay, on AWS as well.
func TestTheAzureShootWithoutOverlayYieldsBackendNoneAndSaysWhy(t *testing.T) {
	backend := func(infrastructure string) (line string) {
		valid, report := validate("apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: mine, uid: created}\nspec:\n"+
			"  provider: {type: "+infrastructure+", workers: [{name: one, minimum: 2, maximum: 2}]}\n  kubernetes: {version: 1.28.3}\n"+
			"  networking: {type: calico, nodes: 10.250.0.0/16, providerConfig: "+calicoConfig(`ipam: {type: host-local}, vethMTU: "1440", typha: {enabled: false}`)+"}\n", "--show-origins")
		NewWithT(t).Expect(valid).To(BeTrue(), report)
		for each := range strings.Lines(report) {
			if strings.HasPrefix(each, "backend ") {
				line = strings.Join(strings.Fields(each), " ")
			}
		}
		return line
	}
	g := NewWithT(t)
	g.Expect(backend("azure")).To(Equal("backend none infrastructure: azure has no IP-in-IP"))
	g.Expect(backend("aws")).To(Equal("backend bird default"))
}
