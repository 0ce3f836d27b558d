// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// libraryDirs are where Debian and others have shared libraries.
var libraryDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/lib",
}

// libraries returns the paths of the dynamic linker and of all shared libraries that the files
// need, directly or through others. Files that are no programs or libraries need none.
func libraries(files []string) ([]string, error) {
	var found []string
	for todo := slices.Clone(files); len(todo) > 0; todo = todo[1:] {
		needed, err := neededBy(todo[0])
		if err != nil {
			return nil, fmt.Errorf("find the libraries of %s: %w", todo[0], err)
		}
		for _, path := range needed {
			if !slices.Contains(found, path) {
				found, todo = append(found, path), append(todo, path)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// neededBy returns what the file itself names.
func neededBy(file string) ([]string, error) {
	program, err := elf.Open(file)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer program.Close()
	names, err := program.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		path, err := library(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	linker, err := interpreter(program)
	if linker != "" {
		paths = append(paths, linker)
	}
	return paths, err
}

func library(name string) (string, error) {
	for _, dir := range libraryDirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

// interpreter is the path of the dynamic linker, which programs name, and libraries do not.
func interpreter(program *elf.File) (string, error) {
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			path := make([]byte, part.Filesz)
			if _, err := part.ReadAt(path, 0); err != nil {
				return "", err
			}
			return string(path[:max(0, len(path)-1)]), nil
		}
	}
	return "", nil
}
