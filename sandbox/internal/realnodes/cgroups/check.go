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

// The controllers without which the kubelet does not run pods.
var (
	neededOfV1 = []string{"cpu", "cpuacct", "cpuset", "memory"}
	neededOfV2 = []string{"cpu", "cpuset", "memory", "pids"}
)

// Check returns an error that says what to do, if nodes cannot have cgroups on this machine:
// none are mounted, controllers are missing, or this process may not make any.
func Check() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := unix.Access(h.parent(), unix.W_OK); err != nil {
			return fmt.Errorf("no cgroup can be made in %s: %w", h.parent(), err)
		}
	}
	if all[0].delegates() {
		return checkV2(all[0].mount)
	}
	var controllers []string
	for _, h := range all {
		controllers = append(controllers, h.controllers...)
	}
	if missing := without(neededOfV1, controllers); len(missing) > 0 {
		return fmt.Errorf("cgroups of version 1 are mounted, but without the controllers %s, which nodes need", strings.Join(missing, ", "))
	}
	return nil
}

// checkV2 checks the hierarchy of version 2 that is mounted at mount, if there is no other.
func checkV2(mount string) error {
	read := func(name string) []string {
		content, _ := wordsIn(filepath.Join(mount, name))
		return content
	}
	if missing := without(neededOfV2, read("cgroup.controllers")); len(missing) > 0 {
		return fmt.Errorf("cgroups of version 2 are mounted at %s, but without the controllers %s, which nodes need: version 1 has them, or nothing above delegates them", mount, strings.Join(missing, ", "))
	}
	if len(without(neededOfV2, read("cgroup.subtree_control"))) == 0 {
		return nil
	}
	// The root of the machine may have processes. That of a container may not, see cgroups(7).
	_, err := os.Stat(filepath.Join(mount, "cgroup.type"))
	if errors.Is(err, os.ErrNotExist) || len(read("cgroup.procs")) == 0 {
		return nil
	}
	return fmt.Errorf("the cgroup at %s has processes itself, and cannot give controllers to others as long; move them first: mkdir %[1]s/init && for p in $(cat %[1]s/cgroup.procs); do echo $p > %[1]s/init/cgroup.procs; done", mount)
}

// without returns those of wanted that are not there.
func without(wanted, there []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(one string) bool { return slices.Contains(there, one) })
}
