// SPDX-License-Identifier: Apache-2.0

// Package cache finds the built sandbox program, and what real nodes run. They are outside the
// tree, in directories whose names change with their sources.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strings"
)

// Program is the name of the built program.
const Program = "trellis-sandbox"

// Entry is the cache's directory for one version of the sources.
type Entry struct {
	// Module is the directory of the sandbox's Go module.
	Module string
	// KubernetesVersion is the version that the module requires, like v1.37.2.
	KubernetesVersion string
	// Root holds all entries of the kind, and Dir is the directory of this one.
	Root, Dir string

	// file is in the directory of each built entry of the kind.
	file string
}

// Path is the path of the sandbox program once it is built. Of the programs of nodes it is the
// path of the file that describes them.
func (e *Entry) Path() string { return filepath.Join(e.Dir, e.file) }

// Built reports whether the entry is built.
func (e *Entry) Built() bool {
	info, err := os.Stat(e.Path())
	return err == nil && info.Mode().IsRegular()
}

// Find returns the sandbox's entry for the sources of the checkout that the working directory
// is in.
func Find() (*Entry, error) {
	module, err := findModule()
	if err != nil {
		return nil, err
	}
	files, err := sources(module)
	if err != nil {
		return nil, err
	}
	return entryFor(module, "sandbox", Program, files, "")
}

// entryFor returns the entry of a kind. Its name is a hash of the files, whose paths are relative
// to the module, and of the rest that determines the content.
func entryFor(module, kind, file string, files []string, rest string) (*Entry, error) {
	version, err := kubernetesVersion(module)
	if err != nil {
		return nil, err
	}
	hash, err := hash(module, files, rest)
	if err != nil {
		return nil, fmt.Errorf("hash the sources of %s: %w", kind, err)
	}
	root, err := root(kind)
	if err != nil {
		return nil, err
	}
	return &Entry{
		Module:            module,
		KubernetesVersion: version,
		Root:              root,
		Dir:               filepath.Join(root, version+"-"+hash),
		file:              file,
	}, nil
}

// root is the directory of this name in $TRELLIS_CACHE, or in trellis in the user's cache
// directory.
func root(kind string) (string, error) {
	if dir := os.Getenv("TRELLIS_CACHE"); dir != "" {
		absolute, err := filepath.Abs(dir)
		return filepath.Join(absolute, kind), err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory for caches: %w; set TRELLIS_CACHE to one", err)
	}
	return filepath.Join(dir, "trellis", kind), nil
}

const moduleLine = "module github.com/trellis-network/trellis/sandbox"

// rootModule is the module whose directory contains sandbox/.
const rootModule = "github.com/trellis-network/trellis"

// findModule looks for sandbox/go.mod in the working directory and above it, and then
// in the directory of the Trellis module that the working directory's module uses.
func findModule() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if module, ok := moduleIn(dir); ok {
			return module, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", rootModule).Output(); err == nil {
		if module, ok := moduleIn(strings.TrimSpace(string(dir))); ok {
			return module, nil
		}
	}
	return "", fmt.Errorf("no sandbox/go.mod in %s or above it; run this inside a checkout of Trellis, "+
		"or in a module that replaces %s by one", start, rootModule)
}

func moduleIn(checkout string) (module string, ok bool) {
	module = filepath.Join(checkout, "sandbox")
	content, err := os.ReadFile(filepath.Join(module, "go.mod"))
	return module, err == nil && strings.HasPrefix(string(content), moduleLine+"\n")
}

var kubernetesRequirement = regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v\S+)`)

func kubernetesVersion(module string) (string, error) {
	content, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	match := kubernetesRequirement.FindSubmatch(content)
	if match == nil {
		return "", errors.New("sandbox/go.mod does not require k8s.io/kubernetes")
	}
	return string(match[1]), nil
}

// hash returns a hash of everything that determines an entry's content: files, the version of
// Go, and the rest.
func hash(module string, files []string, rest string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, rest)
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, filepath.ToSlash(file), len(content))
		_, _ = sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// sources lists the module's files that the program is built from. Modules in directories of
// the module are none of it.
func sources(module string) ([]string, error) {
	files := []string{"go.mod", "go.sum"}
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != module {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := filepath.Rel(module, path)
		files = append(files, file)
		return err
	})
	sort.Strings(files)
	return files, err
}
