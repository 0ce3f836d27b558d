// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names of the cgroups of sandboxes.
const prefix = "trellis-sandbox-"

const (
	// patience is how long Remove waits for processes to leave: the kernel takes a moment to
	// end those of a process that was killed.
	patience = 5 * time.Second
	interval = 20 * time.Millisecond
)

// Name is the name of the cgroup of a sandbox whose supervisor is this process.
func Name() (string, error) {
	started, err := started(os.Getpid())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), started), nil
}

// Remove removes the cgroup at path, and those below it, from every hierarchy. It waits for
// the end of their processes.
func Remove(path string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	var errs []error
	for _, h := range all {
		errs = append(errs, removeTree(filepath.Join(h.parent(), path), deadline))
	}
	return errors.Join(errs...)
}

// Processes returns the ids of the processes in the cgroup at path and below it.
func Processes(path string) ([]int, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var pids []int
	err = filepath.WalkDir(filepath.Join(all[0].parent(), path), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return err
		}
		content, err := os.ReadFile(file)
		for text := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(text); err == nil {
				pids = append(pids, pid)
			}
		}
		return err
	})
	return pids, err
}

// Sweep removes the cgroups of sandboxes whose supervisor has ended without removing them.
// It ignores those with processes that still end.
func Sweep() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		for _, path := range abandoned(h.mount) {
			errs = append(errs, removeTree(path, time.Now().Add(patience)))
		}
	}
	return errors.Join(errs...)
}

// abandoned returns the directories of cgroups of sandboxes that have ended.
func abandoned(mount string) []string {
	var found []string
	_ = filepath.WalkDir(mount, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		supervisor, ours := strings.CutPrefix(entry.Name(), prefix)
		if !ours {
			return nil
		}
		if !runs(supervisor) {
			found = append(found, path)
		}
		return fs.SkipDir
	})
	return found
}

// runs reports whether the process runs that PID-START names.
func runs(supervisor string) bool {
	pid, start, _ := strings.Cut(supervisor, "-")
	number, err := strconv.Atoi(pid)
	if err != nil {
		return true // no name of ours
	}
	now, err := started(number)
	return err == nil && now == start
}

// started returns when a process was started, in ticks since the machine was. With the
// process id, this is never that of another process.
func started(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the name, which may have spaces and parentheses.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const field = 22 - 3 // the first of these fields is the third
	if len(fields) <= field {
		return "", fmt.Errorf("process %d has no start time", pid)
	}
	return fields[field], nil
}

// removeTree removes the cgroup in directory path and all below it. Others may do so too.
func removeTree(path string, deadline time.Time) error {
	for {
		err := removeOnce(path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove the cgroup: %w", err)
		}
		time.Sleep(interval)
	}
}

func removeOnce(path string) error {
	var directories []string
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			directories = append(directories, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, directory := range slices.Backward(directories) { // the lowest first
		if err := os.Remove(directory); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
