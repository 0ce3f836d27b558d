// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestImagesOfTheProgramsAndOfTheUserNeedSpace(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(archive, 100<<20); err != nil {
		t.Fatal(err)
	}
	wanted := options.Up{}
	if got, err := archivesMiB(wanted); err != nil || got != 0 {
		t.Errorf("without real nodes: %d MiB (%v)", got, err)
	}
	wanted.Real = &options.RealNodes{
		Programs: &nodeprograms.Programs{Images: []nodeprograms.Image{{Archive: archive}}},
		Images:   []string{archive},
	}
	if got, err := archivesMiB(wanted); err != nil || got != 200 {
		t.Errorf("got %d MiB (%v)", got, err)
	}
}

func TestTooLittleSpaceIsNamed(t *testing.T) {
	dir := t.TempDir()
	const tooMany = 10_000_000 // for any disk here
	err := checkDisk(needs.Counts{Sandboxes: tooMany}, dir)
	if !options.IsInvalid(err) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"free in " + dir, "sandboxes: 10000000", "--dir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
}

func TestTooLittleMemoryIsNamed(t *testing.T) {
	planned := needs.Counts{Sandboxes: 1, Shoots: 2, RealNodes: 2}
	if err := enoughMemory(planned, 350+2*300+2*400, ""); err != nil {
		t.Error(err)
	}
	err := enoughMemory(planned, 350+2*300+2*400-1, "stop other programs")
	if want := "only 1749 MiB of memory are available, and this takes about 1750 MiB (sandboxes: 1, shoots: 2, real nodes: 2); stop other programs"; !options.IsInvalid(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
