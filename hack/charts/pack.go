// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// packing names what is packed.
type packing struct{ registry, tag string }

// version is that of the charts: Helm demands semantic versions, whose v it does not accept in
// registries.
func (p packing) version() string { return strings.TrimPrefix(p.tag, "v") }

// write packs the charts, and writes the objects for Gardener, into a directory.
func (p packing) write(dir string) error {
	if p.registry == "" || p.tag == "" {
		return fmt.Errorf("-registry and -tag are required")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var operator []byte
	for _, source := range []string{operatorChart, applicationChart, runtimeChart} {
		name, packed, err := p.pack(source)
		if err != nil {
			return fmt.Errorf("pack the chart %s: %w", source, err)
		}
		if source == operatorChart {
			operator = packed
		}
		if err := write(filepath.Join(dir, name+"-"+p.version()+".tgz"), packed); err != nil {
			return err
		}
	}
	registration, err := p.registration(operator)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "controllerregistration.yaml"), registration); err != nil {
		return err
	}
	extension, err := p.extension()
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "extension.yaml"), extension)
}

func write(file string, content []byte) error {
	fmt.Println(file)
	return os.WriteFile(file, content, 0o644)
}

// pack returns the name and the archive of a chart. Nothing in the archive depends on when and where it
// is made.
func (p packing) pack(source string) (name string, archive []byte, err error) {
	files, err := read(os.DirFS(filepath.Join(folder, source)))
	if err != nil {
		return "", nil, err
	}
	if err := addConfig(files, source); err != nil {
		return "", nil, err
	}
	const description = "Chart.yaml"
	described := fields{}
	if err := yaml.Unmarshal(files[description], &described); err != nil {
		return "", nil, err
	}
	name, described["version"], described["appVersion"] = fmt.Sprint(described["name"]), p.version(), p.tag
	if files[description], err = yaml.Marshal(described); err != nil {
		return "", nil, err
	}
	archive, err = compress(name, files)
	return name, archive, err
}

// read returns the files of a folder by their paths.
func read(folder fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(folder, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[file], err = fs.ReadFile(folder, file)
		return err
	})
	return files, err
}

// compress returns an archive with the files in a folder.
func compress(folder string, files map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{
			Name: path.Join(folder, file), Mode: 0o644, Size: int64(len(files[file])), Typeflag: tar.TypeReg,
			ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[file]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return packed.Bytes(), err
}
