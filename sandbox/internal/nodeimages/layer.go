// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a part of images, as data. Images with the same layer share it.
type layer struct {
	// built are programs of the build: a path in the directory of programs, and the absolute
	// path in the image.
	built map[string]string
	// tools are programs of this machine, which are found by their names. In the image they
	// have the same path, and the libraries that they need.
	tools []string
	// links are further names of tools. The image has them as links in /bin.
	links map[string][]string
	// plugins are directories of this machine, below a directory of libraries, with what tools
	// load by name. In the image they have the same path.
	plugins []string
	// files are files of this machine. In the image they have the same path.
	files []string
}

// sources says where layers take their files from.
type sources struct {
	// programs is the directory with the programs of the build.
	programs string
	// toolDirs are searched for tools.
	toolDirs []string
}

// errMissing is that the machine does not have a tool.
var errMissing = errors.New("this machine does not have it")

// build reads the layer's files. The layer is not compressed, and depends on nothing but its files:
// neither on their times nor on their owners.
func (s sources) build(l *layer) (v1.Layer, error) {
	content := newTree()
	for from, to := range l.built {
		if err := content.add(filepath.Join(s.programs, from), to); err != nil {
			return nil, err
		}
	}
	var ours []string
	for _, name := range l.tools {
		tool, err := s.tool(name)
		if err != nil {
			return nil, err
		}
		ours = append(ours, tool)
		for _, link := range l.links[name] {
			content.links[path.Join("/bin", link)] = tool
		}
	}
	for _, dir := range l.plugins {
		plugins, err := pluginsIn(dir)
		if err != nil {
			return nil, err
		}
		ours = append(ours, plugins...)
	}
	needed, err := libraries(ours)
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Concat(ours, needed, l.files) {
		if err := content.add(file, file); err != nil {
			return nil, err
		}
	}
	archive, err := content.archive()
	if err != nil {
		return nil, err
	}
	return static.NewLayer(archive, types.DockerUncompressedLayer), nil
}

func (s sources) tool(name string) (string, error) {
	for _, dir := range s.toolDirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, errMissing)
}

// pluginsIn lists the files of the directory with this name beside the machine's libraries.
func pluginsIn(name string) ([]string, error) {
	dir, err := library(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errMissing)
	}
	return filepath.Glob(filepath.Join(dir, "*.so"))
}

// tree is the content of a layer by its absolute path.
type tree struct {
	// files are the paths of the files' content on this machine, and links the links' targets.
	files, links map[string]string
	// modes are the permissions of files and directories that have others than usual. A path that
	// has nothing else is an empty directory.
	modes map[string]int64
}

func newTree() *tree { return &tree{files: map[string]string{}, links: map[string]string{}} }

// add adds the file that is found at from, through links.
func (t *tree) add(from, to string) error {
	file, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", from, errMissing)
	}
	t.files[to] = file
	return err
}

// archive writes all into a tar archive, in the order of the paths.
func (t *tree) archive() ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	written := map[string]bool{"/": true}
	for _, name := range t.names() {
		if err := t.directories(writer, path.Dir(name), written); err != nil {
			return nil, err
		}
		if t.files[name] == "" && t.links[name] == "" {
			if err := t.directories(writer, name, written); err != nil {
				return nil, err
			}
			continue
		}
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o777, Typeflag: tar.TypeSymlink, Linkname: t.links[name]}
		if err := t.write(writer, header, t.files[name]); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return buffer.Bytes(), err
}

// names are all paths that have an entry of their own, in order.
func (t *tree) names() []string {
	names := slices.Collect(maps.Keys(t.files))
	names = slices.AppendSeq(names, maps.Keys(t.links))
	names = slices.AppendSeq(names, maps.Keys(t.modes))
	slices.Sort(names)
	return slices.Compact(names)
}

// write writes a file, or the header's link if the path of the file is empty.
func (t *tree) write(writer *tar.Writer, header *tar.Header, file string) error {
	if file == "" {
		return writer.WriteHeader(header)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	header.Typeflag, header.Linkname = tar.TypeReg, ""
	header.Mode, header.Size = 0o644|int64(info.Mode().Perm()&0o111), int64(len(content))
	if mode, found := t.modes["/"+header.Name]; found {
		header.Mode = mode
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err = writer.Write(content)
	return err
}

// directories writes a directory and all above it, unless it is written already.
func (t *tree) directories(writer *tar.Writer, dir string, written map[string]bool) error {
	if written[dir] {
		return nil
	}
	if err := t.directories(writer, path.Dir(dir), written); err != nil {
		return err
	}
	written[dir] = true
	mode, found := t.modes[dir]
	if !found {
		mode = 0o755
	}
	return writer.WriteHeader(&tar.Header{Name: strings.TrimPrefix(dir, "/") + "/", Mode: mode, Typeflag: tar.TypeDir})
}
