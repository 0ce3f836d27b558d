// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// archivesMiB is the size of all archives of images that the real nodes of a shoot import.
func archivesMiB(wanted options.Up) (int, error) {
	if wanted.Real == nil {
		return 0, nil
	}
	archives := append([]string(nil), wanted.Real.Images...)
	for _, image := range wanted.Real.Programs.Images {
		archives = append(archives, image.Archive)
	}
	total := int64(0)
	for _, archive := range archives {
		info, err := os.Stat(archive)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return int(total >> 20), nil
}

// checkDisk returns an options.Invalid if this takes more space than is free in a directory, or if
// real nodes cannot have file systems there. Without space not even logs say what is wrong.
func checkDisk(planned needs.Counts, dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("find out how much space is free in %s: %w", dir, err)
	}
	if planned.RealNodes > 0 && stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return options.Invalidf("%s is on an overlay, as in a container, and real nodes cannot have overlays of their own there; name a directory on a volume with --dir, or set TMPDIR", dir)
	}
	free, needed := int(stat.Bavail*uint64(stat.Bsize)>>20), planned.Amount().DiskMiB
	if free < needed {
		return options.Invalidf("only %d MiB are free in %s, and this takes about %d MiB there (%s); name a directory on another disk with --dir, or set TMPDIR", free, dir, needed, planned)
	}
	return nil
}
