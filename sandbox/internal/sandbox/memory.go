// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"github.com/trellis-network/trellis/sandbox/internal/memory"
	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// checkMemory returns an options.Invalid, with the hint what to do, if the machine has less memory
// available than this takes. A machine that does not tell has enough.
func checkMemory(planned needs.Counts, hint string) error {
	available, known := memory.AvailableMiB()
	if !known {
		return nil
	}
	return enoughMemory(planned, available, hint)
}

func enoughMemory(planned needs.Counts, availableMiB int, hint string) error {
	if needed := planned.Amount().MemoryMiB; availableMiB < needed {
		return options.Invalidf("only %d MiB of memory are available, and this takes about %d MiB (%s); %s", availableMiB, needed, planned, hint)
	}
	return nil
}
