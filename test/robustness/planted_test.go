// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// planted maps bugs to the tests that must find them. Each bug is a patch in planted/.
var planted = map[string]string{
	"annotation-before-status": "TestKilledAtAnyWrite/by annotation/^1$",
	"fields-not-taken-over":    "TestExceptions/labels and annotations of users",
	"finalizer-dropped-early":  "TestKilledAtAnyWrite/by edit/^1$",
	"finalizer-forgotten":      "TestKilledAtAnyWrite/by edit/^1$",
	"foreign-finalizer":        "TestAnnotations/a finalizer of another class",
	"inventory-replaced":       "TestAnnotations/keep-object$",
	"inventory-written-late":   "TestAnnotations/keep-object$",
	"keep-object-ignored":      "TestAnnotations/keep-object$",
	"keepobjects-forgotten":    "TestKilledAtAnyWrite/by annotation/^1$",
	"prune-before-read":        "TestAnnotations/a Secret that cannot be read",
	"replicas-overwritten":     "TestExceptions/replicas that the bundle does not set",
	"secret-deleted-early":     "TestKilledAtAnyWrite/by edit/^1$",
	"status-before-apply":      "TestKilledAtAnyWrite/by edit/^1$",
	"written-for-nothing":      "TestKilledAtAnyWrite/by edit/^1$",
}

const root = "../.."

var target = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)

// patched applies a patch to a copy of its file. It returns the paths of the file in the tree
// and of the copy.
func patched(t *testing.T, patch string) (original, replacement string) {
	t.Helper()
	patch, err := filepath.Abs(patch)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	found := target.FindAllSubmatch(content, -1)
	if len(found) != 1 {
		t.Fatalf("%s must change one file, and changes %d", patch, len(found))
	}
	name := string(found[0][1])
	dir := t.TempDir()
	replacement = filepath.Join(dir, name)
	source, err := os.ReadFile(filepath.Join(root, name))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(replacement), 0o700)
	}
	if err == nil {
		err = os.WriteFile(replacement, source, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("git", "apply", patch)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s no longer applies; write the bug again for %s: %v\n%s", patch, name, err, output)
	}
	original, err = filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return original, replacement
}

// Each patch has a test, and applies to the present tree.
func TestPlantedBugsApply(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("planted/*.patch")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(len(planted)))
	for _, file := range files {
		g.Expect(planted).To(HaveKey(strings.TrimSuffix(filepath.Base(file), ".patch")))
		patched(t, file)
	}
}

// compiling allows one compiler at a time.
var compiling sync.Mutex

// The tests find each of the planted bugs.
func TestPlantedBugsAreFound(t *testing.T) {
	if !*all {
		t.Skip("this compiles each bug; make robustness runs it")
	}
	if os.Getenv(kubeconfigOf) != "" {
		t.Skip("this process runs the tests with a bug")
	}
	server(t)
	for name, test := range planted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := compile(t, name)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			command := exec.CommandContext(ctx, program, "-test.run", "^"+strings.ReplaceAll(test, " ", "_"),
				"-robustness.all", "-robustness.stuck-after", (8 * time.Second).String(), "-test.failfast")
			command.Env = append(os.Environ(), kubeconfigOf+"="+started.path)
			output, err := command.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) || !strings.Contains(string(output), "--- FAIL: "+test[:strings.Index(test, "/")]) {
				t.Fatalf("%s did not find the bug: %v\n%s", test, err, output)
			}
		})
	}
}

// compile compiles the test program with a bug.
func compile(t *testing.T, name string) string {
	t.Helper()
	original, replacement := patched(t, filepath.Join("planted", name+".patch"))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	compiling.Lock()
	defer compiling.Unlock()
	program := filepath.Join(dir, "robustness.test")
	command := exec.Command("go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags=-s -w", "-o", program, ".")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the bug does not compile: %v\n%s", err, output)
	}
	return program
}
