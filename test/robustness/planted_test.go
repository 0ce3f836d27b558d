// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// planted maps bugs to the tests that must find them. Each bug is a patch in planted/.
var planted = map[string]string{
	"adapted-only-after-a-write":   "TestKilledAtAnyWrite/with an infrastructure/^1$",
	"annotation-before-status":     "TestKilledAtAnyWrite/by annotation/^1$",
	"fields-not-taken-over":        "TestExceptions/labels and annotations of users",
	"finalizer-dropped-early":      "TestKilledAtAnyWrite/by edit/^1$",
	"finalizer-forgotten":          "TestKilledAtAnyWrite/by edit/^1$",
	"foreign-finalizer":            "TestAnnotations/a finalizer of another class",
	"infrastructure-deleted-early": "TestKilledAtAnyWrite/with an infrastructure/^1$",
	"inventory-replaced":           "TestAnnotations/keep-object$",
	"inventory-written-late":       "TestAnnotations/keep-object$",
	"keep-object-ignored":          "TestAnnotations/keep-object$",
	"keepobjects-forgotten":        "TestKilledAtAnyWrite/by annotation/^1$",
	"prune-before-read":            "TestAnnotations/a Secret that cannot be read",
	"replicas-overwritten":         "TestExceptions/replicas that the bundle does not set",
	"request-taken-off-unanswered": "TestKilledAtAnyWrite/with an infrastructure/^1$",
	"secret-deleted-early":         "TestKilledAtAnyWrite/by edit/^1$",
	"status-before-apply":          "TestKilledAtAnyWrite/by edit/^1$",
	"written-for-nothing":          "TestKilledAtAnyWrite/by edit/^1$",
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
	for dir, known := range map[string][]string{
		"planted":             slices.Collect(maps.Keys(planted)),
		"planted/protections": slices.Collect(maps.Keys(protections)),
	} {
		files, err := filepath.Glob(dir + "/*.patch")
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, file := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".patch"))
			patched(t, file)
		}
		g.Expect(names).To(ConsistOf(known))
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
			program := compile(t, "test/robustness", filepath.Join("planted", name+".patch"))
			mustFail(t, test, program, "-robustness.all", "-robustness.stuck-after", (8 * time.Second).String())
		})
	}
}

// program is a compiled package of tests.
type program struct {
	path string
	// dir is that of the package.
	dir string
	// env are further environment variables, as NAME=VALUE.
	env []string
}

// compile compiles the tests of a package, with the bugs of patches.
func compile(t *testing.T, pkg string, patches ...string) program {
	t.Helper()
	replace := map[string]string{}
	for _, patch := range patches {
		original, replacement := patched(t, patch)
		replace[original] = replacement
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	compiling.Lock()
	defer compiling.Unlock()
	compiled := program{path: filepath.Join(dir, "tests"), dir: filepath.Join(root, pkg), env: []string{kubeconfigOf + "=" + started.path}}
	command := exec.Command("go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags=-s -w", "-o", compiled.path, ".")
	command.Dir = compiled.dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", pkg, err, output)
	}
	return compiled
}

// run runs the tests that a regular expression selects.
func (p program) run(tests string, args ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	command := exec.CommandContext(ctx, p.path, append([]string{"-test.run", tests}, args...)...)
	command.Dir, command.Env = p.dir, append(os.Environ(), p.env...)
	all, err := command.CombinedOutput()
	return string(all), err
}

// mustFail runs a test, or a subtest, and expects it to fail.
func mustFail(t *testing.T, test string, p program, args ...string) {
	t.Helper()
	output, err := p.run("^"+strings.ReplaceAll(test, " ", "_"), append(args, "-test.failfast")...)
	name, _, _ := strings.Cut(test, "/")
	if failed := new(exec.ExitError); !errors.As(err, &failed) || !strings.Contains(output, "--- FAIL: "+name) {
		t.Fatalf("%s did not find the bug: %v\n%s", test, err, output)
	}
}
