// SPDX-License-Identifier: Apache-2.0

// Package needs says how much of a machine sandboxes take: memory, space on disk, and instances of
// inotify. The table is the only place with these numbers, but for sandbox/README.md, which a test
// compares. Another test measures a sandbox, and prints what it takes.
package needs

import (
	"fmt"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// Amount is what something takes, with some room to grow.
type Amount struct {
	MemoryMiB, DiskMiB int
	// Inotify is the number of instances of inotify, of which each user can have
	// fs.inotify.max_user_instances. Only sandboxes with real nodes ask for them: containers may have
	// more, and without them containerd and the kubelet end.
	Inotify int
}

// The table.
var (
	// OfSandbox is a sandbox without shoots: the seed, and etcd, which reserves most of the space. Of
	// inotify its API server has three instances, and its controller-manager none.
	OfSandbox = Amount{MemoryMiB: 350, DiskMiB: 150, Inotify: 3}
	// OfShoot is the cluster of a shoot, with its simulated nodes. Its controller-manager has five
	// instances.
	OfShoot = Amount{MemoryMiB: 300, DiskMiB: 10, Inotify: 8}
	// OfImages are the images of a shoot with real nodes: as they are in the archives, and unpacked,
	// which is more if archives are compressed.
	OfImages = Amount{DiskMiB: imageCopies * 200}
	// OfRealNode is a real node with kube-proxy, CoreDNS and a small network. The kubelet has six
	// instances, containerd two, and kube-proxy one.
	OfRealNode = Amount{MemoryMiB: 400, DiskMiB: 40, Inotify: 9}
)

// imageCopies is how much of the size of the archives OfImages has.
const imageCopies = 3

func (a Amount) times(n int) Amount { return Amount{a.MemoryMiB * n, a.DiskMiB * n, a.Inotify * n} }

func (a Amount) plus(b Amount) Amount {
	return Amount{a.MemoryMiB + b.MemoryMiB, a.DiskMiB + b.DiskMiB, a.Inotify + b.Inotify}
}

// Counts are the sandboxes that run at the same time, and what all of them together have.
type Counts struct {
	Sandboxes, Shoots, RealNodes int
	// Importers are the shoots with real nodes, which have the images.
	Importers int
	// ArchivesMiB is the size of the archives of images, or 0 for that of OfImages.
	ArchivesMiB int
}

// Of returns the counts of one sandbox, whose archives of images have this size.
func Of(wanted options.Up, archivesMiB int) Counts {
	_, realNodes := wanted.NodeCounts()
	c := Counts{Sandboxes: 1, Shoots: len(wanted.Shoots), RealNodes: realNodes, ArchivesMiB: archivesMiB}
	for _, shoot := range wanted.Shoots {
		if shoot.Real {
			c.Importers++
		}
	}
	return c
}

// Amount is what all of it takes.
func (c Counts) Amount() Amount {
	images := OfImages
	if c.ArchivesMiB > 0 {
		images.DiskMiB = imageCopies * c.ArchivesMiB
	}
	return OfSandbox.times(c.Sandboxes).plus(OfShoot.times(c.Shoots)).plus(images.times(c.Importers)).plus(OfRealNode.times(c.RealNodes))
}

// String names the counts for messages.
func (c Counts) String() string {
	return fmt.Sprintf("sandboxes: %d, shoots: %d, real nodes: %d", c.Sandboxes, c.Shoots, c.RealNodes)
}
