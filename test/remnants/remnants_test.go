// SPDX-License-Identifier: Apache-2.0

package remnants

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestAProcessWithoutItsParentIsFound(t *testing.T) {
	machine, err := look()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", "sleep 4711 >/dev/null 2>&1 &").Run(); err != nil {
		t.Fatal(err)
	}
	left := machine.left()
	for _, pid := range machine.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if !slices.ContainsFunc(left, func(line string) bool { return strings.HasSuffix(line, ": sleep 4711 ") }) {
		t.Errorf("got %q", left)
	}
	if left := machine.await(); len(left) > 0 {
		t.Errorf("it was killed, and there still are %q", left)
	}
}
