// SPDX-License-Identifier: Apache-2.0

// Package memory finds out how much memory is available, and how much processes use.
package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// AvailableMiB is the memory that the machine has available. It returns false on
// machines that do not report it.
func AvailableMiB() (int, bool) {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	kib, found := field(content, "MemAvailable:")
	return kib / 1024, found
}

// UsedMiB is the sum of the memory of the processes with these ids. It counts
// shared pages once where the kernel reports that (PSS), and otherwise once for
// each process (RSS). It returns 0 if the machine reports neither.
func UsedMiB(pids []int) int {
	total := 0
	for _, pid := range pids {
		total += processKiB(pid)
	}
	return total / 1024
}

func processKiB(pid int) int {
	for _, source := range []struct{ file, field string }{
		{"smaps_rollup", "Pss:"},
		{"status", "VmRSS:"},
	} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, source.file))
		if err != nil {
			continue
		}
		if kib, found := field(content, source.field); found {
			return kib
		}
	}
	return 0
}

// field finds the number after a name in the "Name:   123 kB" form of /proc.
func field(content []byte, name string) (int, bool) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), name)
		if !found {
			continue
		}
		number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		return number, err == nil
	}
	return 0, false
}
