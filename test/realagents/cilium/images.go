// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/trellis-network/trellis/test/realagents/build"
)

// writeImages writes the archives into a directory.
func (b *builder) writeImages(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, image := range map[string]build.Description{
		"cilium-agent": b.agent(),
		"cilium-operator": {
			Files: map[string]string{"/usr/bin/cilium-operator": b.in("programs", "operator")}, Modes: map[string]string{"/tmp": "1777"},
			Entrypoint: []string{"/usr/bin/cilium-operator"},
		},
		"cilium-envoy": {
			Files: map[string]string{"/usr/bin/cilium-envoy-starter": b.in("stand-in")}, Entrypoint: []string{"/usr/bin/cilium-envoy-starter"},
		},
	} {
		image.Reference = b.tags[name].Reference()
		if err := image.Write(ctx, b.in("image-archive"), filepath.Join(dir, name+".tar")); err != nil {
			return err
		}
	}
	return nil
}

// agent has the agent with the compiler and the sources of its eBPF programs, and all that it and its pod's scripts start.
func (b *builder) agent() build.Description {
	image := build.Description{
		Files: map[string]string{
			"/opt/cni/bin/cilium-cni": b.in("programs", "cilium-cni"),
			"/usr/bin/clang":          "/usr/lib/llvm-19/bin/clang",
			"/var/lib/cilium/bpf":     b.in("cilium", "bpf"),
			"/install-plugin.sh":      b.in("cilium", "plugins", "cilium-cni", "install-plugin.sh"),
			"/cni-uninstall.sh":       b.in("cilium", "plugins", "cilium-cni", "cni-uninstall.sh"),
			"/init-container.sh":      b.in("cilium", "images", "cilium", "init-container.sh"),
			"/etc/iproute2":           "/etc/iproute2",
		},
		Tools: []string{
			"bash", "xtables-nft-multi", "xtables-legacy-multi", "nft", "ipset", "ip", "tc", "nsenter", "mount", "umount", "sysctl",
			"basename", "cat", "chmod", "cp", "cut", "date", "dirname", "env", "find", "grep", "head", "ln", "ls", "mkdir", "mv",
			"readlink", "rm", "sed", "sleep", "stat", "tail", "timeout", "touch", "tr", "true", "which",
		},
		Plugins: []string{"xtables"},
		Links:   map[string]string{"/bin/sh": "/usr/bin/bash", "/bin/bash": "/usr/bin/bash"},
		Modes: map[string]string{
			"/tmp": "1777", "/var/lib/cilium": "755", "/install-plugin.sh": "755", "/cni-uninstall.sh": "755", "/init-container.sh": "755",
		},
		Entrypoint: []string{"/usr/bin/cilium-dbg"},
	}
	for to, program := range map[string]string{
		"cilium-agent": "daemon", "cilium-dbg": "cilium-dbg", "cilium-health": "cilium-health", "cilium-health-responder": "responder",
		"cilium-mount": "mount", "cilium-sysctlfix": "sysctlfix",
	} {
		image.Files["/usr/bin/"+to] = b.in("programs", program)
	}
	for _, file := range []string{"passwd", "group", "protocols", "services"} {
		image.Files["/etc/"+file] = "/etc/" + file
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			image.Links["/usr/sbin/"+family+"-nft"+suffix] = "xtables-nft-multi"
			image.Links["/usr/sbin/"+family+"-legacy"+suffix] = "xtables-legacy-multi"
			image.Links["/usr/sbin/"+family+suffix] = "xtables-nft-multi"
		}
	}
	return image
}
