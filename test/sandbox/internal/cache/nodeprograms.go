// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// nodeProgramsFile describes what real nodes run. It is the last file of the entry to be written.
const nodeProgramsFile = "programs.json"

// nodeSources are the files and directories that determine what real nodes run, relative to the
// sandbox's module. Only those that real nodes need: a change of the sandbox itself builds none
// of it again.
var nodeSources = []string{
	"go.mod", "go.sum", "cmd/node-images", "cmd/pause", "cmd/traffic", "components",
	"internal/nodeimages", "internal/nodeprograms", "internal/traffic",
	"../agents", "../plugins/flannel/images.yaml", "../test/sandbox/build",
	"../examples/gardenet/go.mod", "../examples/gardenet/go.sum", "../examples/gardenet/images.yaml", "../examples/gardenet/gardenet-agent",
	"../go.mod", "../go.sum", "../api/connectivity", "../cmd/trellis-probe", "../internal/probe", "../pipeline/probe/images.yaml",
}

// packagesFile names the packages of Debian with the tools that real nodes run, one a line.
const packagesFile = "components/debian-packages"

// FindNodePrograms returns the entry with what real nodes run, for the sources of the checkout
// that the working directory is in. It returns an error that names the packages of Debian that
// this machine lacks.
func FindNodePrograms() (*Entry, error) {
	module, err := findModule()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, source := range nodeSources {
		found, err := filesBelow(module, source)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	content, err := os.ReadFile(filepath.Join(module, packagesFile))
	if err != nil {
		return nil, err
	}
	packages, err := installed(strings.Fields(string(content)))
	if err != nil {
		return nil, err
	}
	return entryFor(module, "node-programs", nodeProgramsFile, files, packages)
}

// filesBelow lists a file, or all files in a directory but tests and descriptions.
func filesBelow(module, source string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(module, source), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Ext(path) == ".md" {
			return err
		}
		file, err := filepath.Rel(module, path)
		files = append(files, file)
		return err
	})
	return files, err
}

// installed returns the versions of packages, which the images have files of.
func installed(packages []string) (versions string, err error) {
	output, err := exec.Command("dpkg-query", slices.Concat(
		[]string{"--show", "--showformat", "${binary:Package} ${db:Status-Status} ${Version}\n"}, packages)...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("real nodes run tools of Debian's packages %s, and this is no Debian: there is no dpkg-query", strings.Join(packages, ", "))
	}
	// A status of 1 is that a package is not known, which is then missing in the output.
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return "", fmt.Errorf("ask dpkg-query for packages: %w", err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "installed" {
			name, _, _ := strings.Cut(fields[0], ":")
			have[name] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(packages), func(name string) bool { return have[name] })
	if len(missing) > 0 {
		return "", fmt.Errorf("real nodes run tools that this machine does not have; run `make deps` as root, or `apt-get install --no-install-recommends %s`",
			strings.Join(missing, " "))
	}
	return string(output), nil
}
