// SPDX-License-Identifier: Apache-2.0

package nodeimages

import "github.com/trellis-network/trellis/sandbox/internal/nodeprograms"

// image is an image, as data.
type image struct {
	name string
	// published is the path of an images.yaml in the checkout. The image then has the
	// reference that the file has for its name, so that pods run it instead of the published
	// one. Without it, the reference is one of the sandbox's own.
	published string
	layers    []*layer
	// entrypoint is the program that a container without a command runs.
	entrypoint string
}

var (
	// shell is a shell with the commands that scripts in pods use.
	shell = &layer{
		tools: []string{"busybox"},
		links: map[string][]string{"busybox": {
			"[", "cat", "chmod", "cp", "cut", "date", "echo", "env", "false", "grep", "head", "hostname", "id", "ip", "kill", "ls", "mkdir",
			"mv", "nc", "nslookup", "ping", "ping6", "ps", "rm", "sed", "sh", "sleep", "sort", "stat", "tail", "test", "timeout", "touch",
			"traceroute", "true", "wc", "wget", "xargs",
		}},
	}
	// packetFilter is what changes the kernel's rules for packets. nft reads /etc/protocols: without
	// it, it prints protocols as numbers, and kube-proxy, started again, removes rules that it
	// needs.
	packetFilter = &layer{
		tools: []string{"xtables-nft-multi", "nft", "conntrack", "ipset"},
		links: map[string][]string{"xtables-nft-multi": {
			"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
		}},
		plugins: []string{"xtables"},
		files:   []string{"/etc/protocols", "/etc/services"},
	}
	cniPlugins = &layer{built: map[string]string{
		"bin/cni/bridge":     "/usr/src/cni/bin/bridge",
		"bin/cni/host-local": "/usr/src/cni/bin/host-local",
		"bin/cni/loopback":   "/usr/src/cni/bin/loopback",
		"bin/cni/portmap":    "/usr/src/cni/bin/portmap",
	}}
)

// all are the images of a sandbox. The layers that most images share come first.
var all = []image{
	{
		name:       nodeprograms.Pause,
		layers:     []*layer{{built: map[string]string{"parts/pause": "/pause"}}},
		entrypoint: "/pause",
	},
	{
		name:       nodeprograms.KubeProxy,
		layers:     []*layer{shell, packetFilter, {built: map[string]string{"bin/kube-proxy": "/usr/bin/kube-proxy"}}},
		entrypoint: "/usr/bin/kube-proxy",
	},
	{
		name:       nodeprograms.CoreDNS,
		layers:     []*layer{{built: map[string]string{"parts/coredns": "/coredns"}}},
		entrypoint: "/coredns",
	},
	{
		name:       nodeprograms.Traffic,
		layers:     []*layer{shell, {built: map[string]string{"parts/traffic": "/usr/bin/traffic"}}},
		entrypoint: "/usr/bin/traffic",
	},
	{
		name:      "cni-plugins",
		published: flannel,
		layers:    []*layer{shell, cniPlugins},
	},
	{
		name:      "flannel-cni-plugin",
		published: flannel,
		layers:    []*layer{shell, {built: map[string]string{"parts/flannel-cni": "/flannel"}}},
	},
	{
		name:       "flannel",
		published:  flannel,
		layers:     []*layer{shell, packetFilter, {built: map[string]string{"parts/flanneld": "/opt/bin/flanneld"}}},
		entrypoint: "/opt/bin/flanneld",
	},
	{
		name:       "trellis-probe",
		published:  "pipeline/probe/images.yaml",
		layers:     []*layer{{built: map[string]string{"parts/trellis-probe": "/trellis-probe"}}},
		entrypoint: "/trellis-probe",
	},
	{
		name:       "gardenet",
		published:  "examples/gardenet/images.yaml",
		layers:     []*layer{shell, packetFilter, cniPlugins, {built: map[string]string{"parts/gardenet-agent": "/gardenet-agent"}}},
		entrypoint: "/gardenet-agent",
	},
}

// flannel names the images of flannel networks, with what agents/README.md has for each.
const flannel = "plugins/flannel/images.yaml"
