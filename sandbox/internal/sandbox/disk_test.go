// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func TestImagesAndRealNodesNeedSpace(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const large = 10_000_000 // MiB, more than any disk here has
	if err := os.Truncate(archive, 100<<20); err != nil {
		t.Fatal(err)
	}
	simulated := options.Shoot{Nodes: options.Nodes{Count: 3}}
	real := options.Shoot{Nodes: options.Nodes{Count: 2, Real: true}}
	wanted := options.Up{Shoots: []options.Shoot{simulated, real}}
	if got, err := diskMiB(wanted); err != nil || got != 170 {
		t.Errorf("without images: %d MiB (%v)", got, err)
	}
	wanted.Real = &options.RealNodes{
		Programs: &nodeprograms.Programs{Images: []nodeprograms.Image{{Archive: archive}}},
		Images:   []string{archive},
	}
	if got, err := diskMiB(wanted); err != nil || got != 170+2*40+3*200 {
		t.Errorf("with images: %d MiB (%v)", got, err)
	}
	wanted.Shoots[1].Count = large
	err := checkDisk(wanted, t.TempDir())
	if !options.IsInvalid(err) || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("got %v", err)
	}
}
