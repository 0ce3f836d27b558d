// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Enter makes the cgroup at path, such as sandbox/node-1, in every hierarchy, and moves this
// process into it. It gives the cgroup all controllers and processors that its parent has.
func Enter(path string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := h.make(path); err != nil {
			return fmt.Errorf("make the cgroup %s: %w", path, err)
		}
	}
	// Entering one hierarchy changes what /proc/self/cgroup says, so all are made before.
	for _, h := range all {
		if err := enter(filepath.Join(h.parent(), path)); err != nil {
			return fmt.Errorf("enter the cgroup %s: %w", path, err)
		}
	}
	return nil
}

func (h hierarchy) make(path string) error {
	current := h.parent()
	for part := range strings.SplitSeq(path, "/") {
		if h.delegates() {
			if err := delegate(current, current == h.mount); err != nil {
				return err
			}
		}
		child := filepath.Join(current, part)
		if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		// Without these no process can enter.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := copyIfThere(filepath.Join(current, file), filepath.Join(child, file)); err != nil {
				return err
			}
		}
		current = child
	}
	return nil
}

// delegate gives the cgroups below that at path the controllers that it has (version 2): all of
// them, or if others is set only those that nodes need, since cgroups of others are there too. It
// writes nothing if they have them.
func delegate(path string, others bool) error {
	control := filepath.Join(path, "cgroup.subtree_control")
	controllers, err := wordsIn(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return err
	}
	delegated, err := wordsIn(control)
	if err != nil {
		return err
	}
	for _, controller := range without(controllers, delegated) {
		if others && !slices.Contains(neededOfV2, controller) {
			continue
		}
		if err := os.WriteFile(control, []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("delegate the controller %s: %w", controller, err)
		}
	}
	return nil
}

// wordsIn returns the words of a file, such as names of controllers (version 2).
func wordsIn(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	return strings.Fields(string(content)), err
}

// copyIfThere copies the value of a file of version 1. In version 2 the files are there too,
// and empty until they are set.
func copyIfThere(from, to string) error {
	value, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) || (err == nil && strings.TrimSpace(string(value)) == "") {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, value, 0)
}

// enter moves this process into the cgroup at path.
func enter(path string) error {
	return os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte("0"), 0)
}

// Mount mounts the hierarchies below dir, which must be an empty directory. The process must
// be in a cgroup namespace that it has made in the cgroup which is to be the root there, and
// in a mount namespace of its own.
//
// In version 2, Mount moves this process into the cgroup init, and gives all controllers to
// the cgroups beside it.
func Mount(dir string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	if all[0].delegates() {
		return mountV2(dir)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	for _, h := range all {
		if h.beside {
			continue // kubelet and runc would take it for more than it is
		}
		if err := h.mountV1(dir); err != nil {
			return fmt.Errorf("mount the cgroups of %s: %w", strings.Join(h.controllers, ","), err)
		}
	}
	return nil
}

func mountV2(dir string) error {
	if err := unix.Mount("cgroup2", dir, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount the cgroups: %w", err)
	}
	own := filepath.Join(dir, "init")
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := enter(own); err != nil {
		return err
	}
	return delegate(dir, false)
}

// mountV1 mounts a hierarchy of version 1. Where it has several controllers, each has a link
// of its name.
func (h hierarchy) mountV1(dir string) error {
	joined := strings.Join(h.controllers, ",")
	name, options := joined, joined
	if named, found := strings.CutPrefix(joined, "name="); found {
		name, options = named, "none,"+joined
	}
	target := filepath.Join(dir, name)
	if err := os.Mkdir(target, 0o755); err != nil {
		return err
	}
	if len(h.controllers) > 1 {
		for _, controller := range h.controllers {
			if err := os.Symlink(name, filepath.Join(dir, controller)); err != nil {
				return err
			}
		}
	}
	return unix.Mount("cgroup", target, "cgroup", 0, options)
}
