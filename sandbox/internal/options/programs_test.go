// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// cached makes this process's cache one with these directories of programs, the one that was used
// last first.
func cached(t *testing.T, names ...string) (root string) {
	t.Helper()
	cache := t.TempDir()
	t.Setenv("TRELLIS_CACHE", cache)
	root = filepath.Join(cache, "node-programs")
	var programs nodeprograms.Programs
	for _, name := range []string{nodeprograms.Pause, nodeprograms.KubeProxy, nodeprograms.CoreDNS, nodeprograms.Traffic} {
		programs.Images = append(programs.Images, nodeprograms.Image{Name: name, Archive: name + ".tar"})
	}
	now := time.Now()
	for age, name := range names {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, image := range programs.Images {
			if err := os.WriteFile(filepath.Join(dir, image.Archive), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := programs.Write(dir); err != nil {
			t.Fatal(err)
		}
		used := now.Add(-time.Duration(age) * time.Hour)
		if err := os.Chtimes(dir, used, used); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheProgramsOfNodesAreThoseThatWereUsedLast(t *testing.T) {
	root := cached(t, "build-1", "v1.2.3-c", "v1.2.3-a", "v1.2.3-b")
	for _, want := range []string{"v1.2.3-c", "v1.2.3-a", "v1.2.3-b"} {
		dir := filepath.Join(root, want)
		programs, err := readPrograms("")
		if err != nil || programs.Dir != dir {
			t.Errorf("got %+v (%v), want those in %s", programs, err, dir)
		}
		// What is not complete is passed over, however new it is.
		if err := os.Remove(filepath.Join(dir, "pause.tar")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readPrograms(""); !IsInvalid(err) || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), "make real-nodes") {
		t.Errorf("got %v", err)
	}
}

func TestTheProgramsOfNodesAreInTheUsersCache(t *testing.T) {
	cached(t, "v1.2.3-a")
	trellis := os.Getenv("TRELLIS_CACHE")
	user := t.TempDir()
	if err := os.Rename(trellis, filepath.Join(user, "trellis")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TRELLIS_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", user)
	if programs, err := readPrograms(""); err != nil || programs.Dir != filepath.Join(user, "trellis", "node-programs", "v1.2.3-a") {
		t.Errorf("got %+v (%v)", programs, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := readPrograms(""); !IsInvalid(err) || !strings.Contains(err.Error(), "TRELLIS_CACHE") {
		t.Errorf("got %v", err)
	}
}

// What is missing is named at once. A shoot is not missing: there is one without asking.
func TestRealNodesNeedNoOtherFlag(t *testing.T) {
	cached(t)
	_, err := parse(t, "--nodes=real:2", "--subnets=5")
	if !IsInvalid(err) || !strings.Contains(err.Error(), "make real-nodes") || !strings.Contains(err.Error(), "--subnets 5") || strings.Contains(err.Error(), "--shoot") {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can have real nodes")
	}
	root := cached(t, "v1.2.3-a")
	for line, want := range map[string]string{
		"--nodes=real:2":                         "garden-dev/shoot-1",
		"--nodes=real:2 --shoots=2":              "garden-dev/shoot-1 garden-dev/shoot-2",
		"--nodes=real:2 --shoot=a/b":             "a/b",
		"--nodes=real:2 --shoot=a/b --shoots=1":  "a/b garden-dev/shoot-1",
		"--nodes=3 --shoot=a/b=real:2":           "a/b",
		"--nodes=real:2 --shoot=a/b --subnets=2": "a/b",
	} {
		up, err := parse(t, strings.Fields(line)...)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var shoots []string
		for _, shoot := range up.Shoots {
			shoots = append(shoots, shoot.String())
		}
		if _, real := up.NodeCounts(); strings.Join(shoots, " ") != want || real != 2*len(shoots) || up.Real.Programs.Dir != filepath.Join(root, "v1.2.3-a") {
			t.Errorf("%s: got shoots %s with %d real nodes, and programs in %s", line, shoots, real, up.Real.Programs.Dir)
		}
	}
}
