// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestTheReadmeHasTheTable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	of := func(value int, unit string) string {
		if value == 0 {
			return "|"
		}
		return fmt.Sprintf("| %d%s ", value, unit)
	}
	for _, row := range []struct {
		what string
		Amount
	}{
		{"a sandbox with its seed", OfSandbox}, {"a shoot", OfShoot}, {"the images of a shoot with real nodes", OfImages}, {"a real node", OfRealNode},
	} {
		line := "| " + row.what + " " + of(row.MemoryMiB, " MiB") + of(row.DiskMiB, " MiB") + of(row.Inotify, "") + "|"
		if !strings.Contains(strings.ReplaceAll(string(readme), "| |", "||"), line) {
			t.Errorf("there is no line %s", line)
		}
	}
}

func TestOnlyShootsWithRealNodesHaveImages(t *testing.T) {
	wanted := options.Up{Shoots: []options.Shoot{{Nodes: options.Nodes{Count: 3}}, {Nodes: options.Nodes{Count: 2, Real: true}}}}
	if got, want := Of(wanted, 100).Amount(), (Amount{350 + 2*300 + 2*400, 150 + 2*10 + 3*100 + 2*40, 3 + 2*8 + 2*9}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := Of(options.Up{}, 0).Amount(), OfSandbox; got != want {
		t.Errorf("without shoots: got %+v, want %+v", got, want)
	}
}
