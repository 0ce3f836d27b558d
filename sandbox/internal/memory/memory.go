// Package memory knows how much memory a sandbox takes, how much is free, and
// how much its processes really use.
package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// What a fresh sandbox was measured to take, in MiB, with some room to grow.
const (
	seedMiB  = 350
	shootMiB = 300
)

// ExpectedMiB is what a sandbox with so many shoots takes.
func ExpectedMiB(shoots int) int { return seedMiB + shoots*shootMiB }

// Enough refuses, with an options.Invalid, a sandbox that takes more than what
// is available.
func Enough(shoots, availableMiB int) error {
	if expected := ExpectedMiB(shoots); availableMiB < expected {
		return options.Invalidf("only %d MiB of memory are available, and a seed with %d shoots takes about %d MiB; ask for fewer shoots, stop other programs, or try all the same with --ignore-memory", availableMiB, shoots, expected)
	}
	return nil
}

// AvailableMiB is how much memory the machine can still give away. It returns
// false where that cannot be known.
func AvailableMiB() (int, bool) {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	kib, found := field(content, "MemAvailable:")
	return kib / 1024, found
}

// UsedMiB is the memory of the processes with these ids together. Pages that
// they share are counted once where the kernel tells (PSS); else each process
// counts its own (RSS). It returns 0 where neither can be known.
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

// field finds the number behind a name in the "Name:   123 kB" form of /proc.
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
