// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkout makes a small tree like a checkout, and changes the working directory to it.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sandbox", "go.mod"), moduleLine+"\n\nrequire (\n\tk8s.io/kubernetes v1.37.2\n)\n")
	write(t, filepath.Join(dir, "sandbox", "go.sum"), "")
	write(t, filepath.Join(dir, "sandbox", "cmd", "main.go"), "package main")
	write(t, filepath.Join(dir, "test", "x", "x.go"), "package x")
	t.Chdir(filepath.Join(dir, "test", "x"))
	t.Setenv("TRELLIS_CACHE", filepath.Join(dir, "cache"))
	return filepath.Join(dir, "sandbox")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T) *Entry {
	t.Helper()
	entry, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func TestFind(t *testing.T) {
	module := checkout(t)
	entry := find(t)
	if !strings.HasPrefix(filepath.Base(entry.Dir), "v1.37.2-") || filepath.Base(entry.Root) != "sandbox" {
		t.Errorf("got %+v", entry)
	}
	if entry.Built() {
		t.Error("Built reports a program that does not exist")
	}
	write(t, filepath.Join(module, "components", "x", "go.mod"), "")
	for name, test := range map[string]struct {
		file    string
		changes bool
	}{
		"source":      {"cmd/main.go", true},
		"new source":  {"internal/x.go", true},
		"sums":        {"go.sum", true},
		"test":        {"cmd/main_test.go", false},
		"description": {"README.md", false},
		"module":      {"components/x/go.mod", false},
		"its source":  {"components/x/x.go", false},
	} {
		before := find(t).Dir
		write(t, filepath.Join(module, test.file), "package changed")
		if changed := find(t).Dir != before; changed != test.changes {
			t.Errorf("%s: changed %v, want %v", name, changed, test.changes)
		}
	}
}

func TestFindOutside(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "checkout") {
		t.Errorf("got %v", err)
	}
}

func TestEntriesThatWereUsedRecentlyAreKept(t *testing.T) {
	checkout(t)
	entry := find(t)
	for _, name := range []string{filepath.Base(entry.Dir), "v1.37.2-a", "v1.37.2-b"} {
		write(t, filepath.Join(entry.Root, name, Program), "")
	}
	if err := entry.Prune(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(entry.Root, "v*")); len(left) != 3 {
		t.Errorf("left are %v", left)
	}
}

func TestPrune(t *testing.T) {
	checkout(t)
	entry := find(t)
	now := time.Now()
	for name, age := range map[string]time.Duration{filepath.Base(entry.Dir): 3 * time.Hour, "v1.37.2-a": time.Hour, "v1.37.2-b": 2 * time.Hour} {
		write(t, filepath.Join(entry.Root, name, Program), "")
		if err := os.Chtimes(filepath.Join(entry.Root, name), now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := entry.Prune(); err != nil {
		t.Fatal(err)
	}
	if !entry.Built() {
		t.Error("Prune removed the entry in use")
	}
	left, _ := filepath.Glob(filepath.Join(entry.Root, "v*"))
	if len(left) != 2 {
		t.Errorf("left are %v", left)
	}
	if _, err := os.Stat(filepath.Join(entry.Root, "v1.37.2-b")); err == nil {
		t.Error("Prune kept the oldest entry")
	}
}
