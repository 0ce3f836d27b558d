// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"os"
	"testing"
)

func TestMeasured(t *testing.T) {
	if available, known := AvailableMiB(); !known || available <= 0 {
		t.Errorf("available: %d MiB, %v", available, known)
	}
	if used := UsedMiB([]int{os.Getpid()}); used <= 0 {
		t.Errorf("used: %d MiB", used)
	}
	if used := UsedMiB([]int{1 << 30}); used != 0 {
		t.Errorf("a process that does not exist uses %d MiB", used)
	}
}

func TestField(t *testing.T) {
	content := []byte("MemTotal:  9 kB\nMemAvailable:    2048 kB\n")
	if got, found := field(content, "MemAvailable:"); !found || got != 2048 {
		t.Errorf("got %d, %v", got, found)
	}
	if _, found := field(content, "Pss:"); found {
		t.Error("found a field that is not there")
	}
}
