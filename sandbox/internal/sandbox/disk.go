// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// Measured space on disk of a new sandbox in MiB, with some room to grow.
const (
	// seedDiskMiB is etcd, most of which it reserves when it starts, and logs.
	seedDiskMiB  = 150
	shootDiskMiB = 10
	// nodeDiskMiB is what a real node does not share with others.
	nodeDiskMiB = 40
	// imageCopies is how often images are on disk: as they are in the archive, and unpacked,
	// which is more if the archive is compressed.
	imageCopies = 3
)

// diskMiB is the space that a sandbox takes in its directory.
func diskMiB(wanted options.Up) (int, error) {
	total := seedDiskMiB + len(wanted.Shoots)*shootDiskMiB
	if wanted.Real == nil {
		return total, nil
	}
	archives := append([]string(nil), wanted.Real.Images...)
	for _, image := range wanted.Real.Programs.Images {
		archives = append(archives, image.Archive)
	}
	images := int64(0)
	for _, archive := range archives {
		info, err := os.Stat(archive)
		if err != nil {
			return 0, err
		}
		images += info.Size()
	}
	for _, shoot := range wanted.Shoots {
		if shoot.Real {
			total += shoot.Count*nodeDiskMiB + imageCopies*int(images>>20)
		}
	}
	return total, nil
}

// checkDisk returns an options.Invalid if the sandbox takes more space than is free in its
// directory, or cannot have file systems of nodes there. Without space not even logs say what
// is wrong.
func checkDisk(wanted options.Up, dir string) error {
	needed, err := diskMiB(wanted)
	if err != nil {
		return err
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("find out how much space is free in %s: %w", dir, err)
	}
	if wanted.Real != nil && stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return options.Invalidf("%s is on an overlay, as in a container, and real nodes cannot have overlays of their own there; name a directory on a volume with --dir, or set TMPDIR", dir)
	}
	free := int(stat.Bavail * uint64(stat.Bsize) >> 20)
	if free < needed {
		return options.Invalidf("only %d MiB are free in %s, and this sandbox takes about %d MiB there; name a directory on another disk with --dir, or set TMPDIR", free, dir, needed)
	}
	return nil
}
