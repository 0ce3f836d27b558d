// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNodesShareLayersAndNoDatabase(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "var", "store")
	names := []string{"meta.db", "blob"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := link(from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		one, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if shared, want := os.SameFile(one, other), name == "blob"; shared != want || other.Size() != int64(len(name)) {
			t.Errorf("%s is shared: %v, want %v; it has %d bytes", name, shared, want, other.Size())
		}
	}
}
