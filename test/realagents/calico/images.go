// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/test/realagents/build"
)

// user is the user of Calico's agents that need no root.
const user = "999"

// withFewRights is the directory, in that of all archives, with those for a calico-node that is not
// root.
const withFewRights = "few-rights"

// writeImages writes the archives into a directory.
func (b *builder) writeImages(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, withFewRights), 0o755); err != nil {
		return err
	}
	empty := b.in("empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		return err
	}
	all := map[string]build.Description{
		"calico-node":             b.node(),
		"calico-cni":              b.cni(),
		"calico-typha":            b.typha(),
		"calico-kube-controllers": b.kubeControllers(empty),
	}
	if b.from[autoscaler].dir != "" {
		all["calico-cpa"] = b.single("cluster-proportional-autoscaler")
	}
	if b.from[verticalAutoscaler].dir != "" {
		all["calico-cpva"] = b.single("cpvpa")
	}
	all[withFewRights+"/calico-node"] = b.nodeWithFewRights()
	for name, image := range all {
		image.Reference = b.tags[filepath.Base(name)].Reference()
		if err := image.Write(ctx, b.in("image-archive"), filepath.Join(dir, name+".tar")); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) program(name string) string { return b.in("programs", name) }

// single is an image of one program without anything else.
func (b *builder) single(program string) build.Description {
	return build.Description{
		Files:      map[string]string{"/" + program: b.program(program)},
		Entrypoint: []string{"/" + program}, User: user,
	}
}

func (b *builder) typha() build.Description {
	return build.Description{
		Files: map[string]string{
			"/usr/bin/calico-typha": b.program("calico-typha"),
			"/etc/calico/typha.cfg": filepath.Join(b.from[calico].dir, "typha/docker-image/typha.cfg"),
		},
		Entrypoint: []string{"/usr/bin/calico-typha"}, User: user,
	}
}

// kubeControllers writes into three files as a user that is not root.
func (b *builder) kubeControllers(empty string) build.Description {
	image := build.Description{
		Files: map[string]string{
			"/usr/bin/kube-controllers": b.program("kube-controllers"),
			"/usr/bin/check-status":     b.program("check-status"),
			"/usr/bin/wrapper":          b.program("wrapper"),
		},
		Modes:      map[string]string{"/tmp": "1777"},
		Entrypoint: []string{"/usr/bin/wrapper", "/usr/bin/kube-controllers"}, User: user,
	}
	for _, file := range []string{"/status/status.json", "/profiles/mem.pprof", "/profiles/cpu.pprof"} {
		image.Files[file], image.Modes[file] = empty, "666"
	}
	return image
}

func (b *builder) cni() build.Description {
	image := build.Description{
		Files: map[string]string{
			"/opt/cni/bin/install":     b.program("install"),
			"/opt/cni/bin/calico":      b.program("calico"),
			"/opt/cni/bin/calico-ipam": b.program("calico"),
		},
		Entrypoint: []string{"/opt/cni/bin/install"},
	}
	for _, plugin := range []string{"host-local", "loopback", "portmap"} {
		image.Files["/opt/cni/bin/"+plugin] = filepath.Join(b.programs, "bin", "cni", plugin)
	}
	return image
}

// node has calico-node with what it starts. Its set-uid bits and the rights of its directories are
// those of the published image, so that it can run as another user than root.
func (b *builder) node() build.Description {
	from := b.from[calico].dir
	image := build.Description{
		Files: map[string]string{
			"/etc":                         filepath.Join(from, "node/filesystem/etc"),
			"/etc/calico/confd/conf.d":     filepath.Join(from, "confd/etc/calico/confd/conf.d"),
			"/etc/calico/confd/templates":  filepath.Join(from, "confd/etc/calico/confd/templates"),
			"/usr/sbin/start_runit":        filepath.Join(from, "node/filesystem/sbin/start_runit"),
			"/bin/calico-node":             b.program("calico-node"),
			"/bin/mountns":                 b.program("mountns"),
			"/usr/lib/calico/bpf":          b.in("felix/bpf-gpl/bin"),
			"/usr/lib/calico/bpf/filter.o": b.in("felix/bpf-apache/bin/filter.o"),
			"/etc/iproute2":                "/etc/iproute2",
		},
		Tools: []string{
			"bash", "xtables-nft-multi", "xtables-legacy-multi", "nft", "ipset", "conntrack", "ip", "tc", "bpftool", "runsvdir", "runsv", "sv", "svlogd",
			"cat", "cp", "date", "env", "head", "ln", "ls", "mkdir", "mv", "readlink", "rm", "sleep", "stat", "tail", "tee", "timeout", "touch",
			"true", "which", "grep", "sed",
		},
		Plugins: []string{"xtables"},
		Links:   map[string]string{"/bin/sh": "/usr/bin/bash", "/bin/bash": "/usr/bin/bash"},
		Modes: map[string]string{
			"/bin/calico-node": "4755", "/bin/mountns": "4755", "/bin/bird": "4755", "/bin/bird6": "4755",
			"/etc/calico": "775", "/etc/calico/confd": "775", "/etc/calico/confd/config": "775", "/etc/service": "777",
			"/tmp": "1777", "/var/lib": "755", "/var/log": "755",
		},
		Entrypoint: []string{"start_runit"},
		Env:        []string{"SVDIR=/etc/service/enabled"},
	}
	for _, program := range []string{"bird", "bird6", "birdcl", "birdcl6"} {
		image.Files["/bin/"+program] = b.in("bird-programs", runtime.GOARCH, program)
	}
	for _, object := range []string{"redir.o", "sockops.o"} {
		image.Files["/usr/lib/calico/bpf/"+object] = b.in("felix/bpf-apache/bin", object)
	}
	for _, file := range []string{"passwd", "group", "protocols", "services"} {
		image.Files["/etc/"+file] = "/etc/" + file
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			image.Links["/usr/sbin/"+family+"-nft"+suffix] = "xtables-nft-multi"
			image.Links["/usr/sbin/"+family+"-legacy"+suffix] = "xtables-legacy-multi"
			image.Links["/usr/sbin/"+family+suffix] = "xtables-legacy-multi"
		}
	}
	return image
}

// nodeWithFewRights is node with as-root/main.c before iptables and nft, which the published image lacks.
func (b *builder) nodeWithFewRights() build.Description {
	const usual, starter, moved = "/usr/sbin/", "as-root", "/usr/libexec/"
	image := b.node()
	image.Files[usual+starter] = b.in(starter)
	image.Tools = slices.DeleteFunc(image.Tools, func(tool string) bool { return tool == "nft" })
	image.Files[moved+"nft"], image.Links[usual+"nft"] = usual+"nft", starter
	for link, target := range maps.Clone(image.Links) {
		if name, isFilter := strings.CutPrefix(link, usual+"ip"); isFilter {
			image.Links[link], image.Links[moved+"ip"+name] = starter, usual+target
		}
	}
	return image
}
