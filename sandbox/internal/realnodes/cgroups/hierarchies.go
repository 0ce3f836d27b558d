// SPDX-License-Identifier: Apache-2.0

// Package cgroups makes cgroups for real nodes, lets processes enter them, shows them to a
// node as if they were all that there is, and removes them. It knows version 1, with a
// hierarchy for each controller, and version 2. A machine that has controllers in version 1
// uses that.
package cgroups

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is one mounted hierarchy of cgroups.
type hierarchy struct {
	// mount is where it is mounted.
	mount string
	// controllers are its controllers in version 1, such as memory, or name=systemd. In
	// version 2 there are none.
	controllers []string
	// own is the directory of this process's cgroup.
	own string
	// beside is set for version 2 where version 1 has the controllers. Programs of eBPF are
	// attached there, and each node's must be its own.
	beside bool
}

// hierarchies are all hierarchies that nodes need. If version 1 is mounted, version 2 is the
// last, if at all.
func hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	memberships, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	return parse(mounts, memberships)
}

// parse reads /proc/PID/mountinfo and /proc/PID/cgroup, see proc(5) and cgroups(7).
func parse(mounts, memberships []byte) ([]hierarchy, error) {
	paths := map[string]string{} // by controllers
	for line := range lines(memberships) {
		if parts := strings.SplitN(line, ":", 3); len(parts) == 3 {
			paths[parts[1]] = parts[2]
		}
	}
	var one, two []hierarchy
	for line := range lines(mounts) {
		before, after, found := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(types) < 3 {
			continue
		}
		root, mount := fields[3], fields[4]
		switch types[0] {
		case "cgroup":
			controllers := controllersOf(types[2], paths)
			if len(controllers) == 0 {
				continue
			}
			path := paths[strings.Join(controllers, ",")]
			one = append(one, hierarchy{mount: mount, controllers: controllers, own: below(mount, root, path)})
		case "cgroup2":
			two = append(two, hierarchy{mount: mount, own: below(mount, root, paths[""])})
		}
	}
	switch {
	case len(one) > 0:
		for _, h := range two[:min(1, len(two))] {
			h.beside = true
			one = append(one, h)
		}
		return one, nil
	case len(two) > 0:
		return two[:1], nil
	}
	return nil, fmt.Errorf("no cgroups are mounted")
}

// controllersOf returns which of the options of a mount are controllers, in the order in
// which paths has them.
func controllersOf(options string, paths map[string]string) []string {
	set := strings.Split(options, ",")
	for joined := range paths {
		controllers := strings.Split(joined, ",")
		if joined != "" && !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(set, c) }) {
			return controllers
		}
	}
	return nil
}

// below is the directory of the cgroup at path, where the cgroup root of the hierarchy is
// mounted at mount.
func below(mount, root, path string) string {
	relative, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(relative) {
		return mount
	}
	return filepath.Join(mount, relative)
}

// delegates reports whether this is version 2 with the controllers, which each cgroup must
// give to those below it.
func (h hierarchy) delegates() bool { return len(h.controllers) == 0 && !h.beside }

// parent is the cgroup in which Enter makes others. It is that of this process. But in version
// 2 a cgroup with processes has no controllers for others below it, so it is the root.
func (h hierarchy) parent() string {
	if h.delegates() {
		return h.mount
	}
	return h.own
}

func lines(content []byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for scanner := bufio.NewScanner(bytes.NewReader(content)); scanner.Scan(); {
			if !yield(scanner.Text()) {
				return
			}
		}
	}
}
