// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withNodes adds what FindNodePrograms reads to a checkout, and a dpkg-query that answers with
// these lines.
func withNodes(t *testing.T, lines ...string) (module string) {
	t.Helper()
	module = checkout(t)
	for _, source := range nodeSources {
		if filepath.Ext(source) == "" {
			write(t, filepath.Join(module, source, "main.go"), "package main")
		} else if _, err := os.Stat(filepath.Join(module, source)); err != nil {
			write(t, filepath.Join(module, source), "")
		}
	}
	write(t, filepath.Join(module, packagesFile), "iptables\nrunc\n")
	answer(t, lines...)
	return module
}

// answer makes this process find a dpkg-query that answers with these lines.
func answer(t *testing.T, lines ...string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "answer"), strings.Join(lines, "\n")+"\n")
	script := fmt.Sprintf("#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <%s/answer\nexit 1\n", dir)
	write(t, filepath.Join(dir, "dpkg-query"), script)
	if err := os.Chmod(filepath.Join(dir, "dpkg-query"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

func findNodePrograms(t *testing.T) *Entry {
	t.Helper()
	entry, err := FindNodePrograms()
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func TestTheProgramsOfNodesChangeWithTheirSourcesOnly(t *testing.T) {
	module := withNodes(t, "iptables installed 1", "runc installed 1")
	if root := findNodePrograms(t).Root; filepath.Base(root) != "node-programs" {
		t.Errorf("the root is %s", root)
	}
	for file, changes := range map[string]bool{
		"components/coredns/go.mod":      true,
		"internal/nodeimages/images.go":  true,
		"../plugins/flannel/images.yaml": true,
		"../agents/cmd/flanneld/run.go":  true,
		"../agents/README.md":            false,
		"internal/sandbox/up.go":         false,
		"internal/traffic/x_test.go":     false,
	} {
		before := findNodePrograms(t).Dir
		write(t, filepath.Join(module, file), "package changed")
		if changed := findNodePrograms(t).Dir != before; changed != changes {
			t.Errorf("%s: changed %v, want %v", file, changed, changes)
		}
	}
	before := findNodePrograms(t).Dir
	answer(t, "iptables installed 1", "runc installed 2")
	if findNodePrograms(t).Dir == before {
		t.Error("another version of a tool changes nothing")
	}
}

func TestPackagesThatAreMissingAreNamed(t *testing.T) {
	withNodes(t, "iptables:amd64 installed 1", "runc config-files 1")
	_, err := FindNodePrograms()
	if err == nil || !strings.Contains(err.Error(), "make deps") || !strings.HasSuffix(err.Error(), "--no-install-recommends runc`") {
		t.Errorf("got %v", err)
	}
}
