// SPDX-License-Identifier: Apache-2.0

package workdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

func claim(t *testing.T, path string) *Dir {
	t.Helper()
	dir, err := Claim(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestClaimIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir")
	dir := claim(t, path)
	if pid, running := Holder(path); !running || pid != os.Getpid() {
		t.Errorf("holder is %d, %v", pid, running)
	}
	if _, err := Claim(path); !options.IsInvalid(err) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second claim gives %v", err)
	}
	if err := dir.Release(); err != nil {
		t.Fatal(err)
	}
	if _, running := Holder(path); running {
		t.Error("the directory is still locked after the release")
	}
	if err := claim(t, path).Release(); err != nil {
		t.Error(err)
	}
}

func TestGivenDirectoryIsKeptAndCleared(t *testing.T) {
	path := t.TempDir()
	dir := claim(t, path)
	leftover := filepath.Join(dir.Etcd(), "data")
	if err := os.MkdirAll(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(leftover); err != nil {
		t.Errorf("Release removed data: %v", err)
	}
	defer claim(t, path).Release()
	if _, err := os.Stat(leftover); err == nil {
		t.Error("Claim did not remove the data of an earlier sandbox")
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o700 {
		t.Errorf("the directory's mode is %v", info.Mode())
	}
}

func TestWhatNodesLeftIsRemoved(t *testing.T) {
	path := t.TempDir()
	dir := claim(t, path)
	left, log := filepath.Join(dir.Nodes("shoots/a/b"), "node-1", "etc"), dir.Logs("shoots/a/b")
	for _, each := range []string{left, log} {
		if err := os.MkdirAll(each, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveNodes(path); !options.IsInvalid(err) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while the sandbox runs: %v", err)
	}
	if err := dir.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Error(err)
	}
	if err := RemoveNodes(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(path, nodes)); err == nil {
		t.Error("the files of nodes are left")
	}
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the logs are gone: %v", err)
	}
}

func TestNothingOfOthersIsRemoved(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), nodes)
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RemoveNodes(filepath.Dir(foreign)); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(foreign)); err != nil || len(entries) != 1 {
		t.Errorf("got %v (%v)", entries, err)
	}
}

func TestTemporaryDirectoryIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := claim(t, "")
	if err := dir.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Path()); err == nil {
		t.Error("the temporary directory is still there")
	}
}

func TestAbandonedDirectoriesAreSwept(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	old := time.Now().Add(-time.Hour)
	lockOf := func(path string) string { return filepath.Join(path, lockFile) }

	held := claim(t, "")
	defer held.Release()
	fresh, abandoned := filepath.Join(parent, prefix+"fresh"), filepath.Join(parent, prefix+"abandoned")
	for _, path := range []string{fresh, abandoned} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lockOf(path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{abandoned, held.Path()} {
		if err := os.Chtimes(lockOf(path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	defer claim(t, "").Release()
	for path, want := range map[string]bool{abandoned: false, fresh: true, held.Path(): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: exists: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
}

func TestRefusedDirectories(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a file": file, "below a file": filepath.Join(file, "x"), "foreign files": parent, "not writable": "/proc/x"} {
		if _, err := Claim(path); !options.IsInvalid(err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestUserKubeconfigStaysInside(t *testing.T) {
	dir := &Dir{path: "/d"}
	for _, user := range []string{"../../etc/x", "system:serviceaccount:a:b", "..", "a/b"} {
		if got := filepath.Dir(dir.UserKubeconfig(user)); got != "/d/kubeconfigs/users" {
			t.Errorf("user %q gets a file in %s", user, got)
		}
	}
}
