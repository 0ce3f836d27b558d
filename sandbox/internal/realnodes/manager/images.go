// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
)

// store is where containerd keeps images, below the root of a node.
const store = "var/lib/containerd"

// shareImages imports all images once, and gives each node the result. The nodes share the
// files of the layers, which containerd never changes.
func (m *manager) shareImages() error {
	importer := m.plan.Importer
	if err := m.group.RunToEnd(m.component(importer)); err != nil {
		return err
	}
	for _, node := range m.plan.Nodes {
		if err := link(filepath.Join(importer.Root, store), filepath.Join(node.Root, store)); err != nil {
			return fmt.Errorf("give %s the images: %w", node.Name, err)
		}
	}
	return errors.Join(os.RemoveAll(importer.Root), cgroups.Remove(filepath.Join(m.plan.Cgroup, importer.Name)))
}

// link makes a directory whose files are links to those of another one, except for databases,
// which are copies.
func link(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	// Unlike the standard library, cp keeps owners, devices and extended attributes, in which
	// overlays of layers keep what they delete.
	if output, err := exec.Command("cp", "--archive", "--link", "--no-target-directory", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, output)
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasSuffix(path, ".db") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	})
}
