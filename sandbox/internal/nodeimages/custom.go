// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Custom describes an image that is none of the sandbox's own, such as that of an agent which
// its user has built. All paths in the image are absolute.
type Custom struct {
	// Reference is what pods name the image, with a tag.
	Reference string `json:"reference"`
	// Files are files and directories of this machine, by their paths in the image. A directory
	// brings all files below it. Programs bring the libraries that they need.
	Files map[string]string `json:"files,omitempty"`
	// Tools are programs of this machine, which are found by their names. In the image they have
	// the same paths, and the libraries that they need.
	Tools []string `json:"tools,omitempty"`
	// Plugins are directories of this machine, below a directory of libraries, with what tools
	// load by name.
	Plugins []string `json:"plugins,omitempty"`
	// Links are the targets of links, by the links' paths.
	Links map[string]string `json:"links,omitempty"`
	// Modes are the permissions of files and directories, octal as for chmod, by their paths. A
	// path that has nothing else is an empty directory. Without it, files have 644, or 755 if
	// they may be executed, and directories 755.
	Modes map[string]string `json:"modes,omitempty"`
	// Entrypoint is the command of containers without one, User the number of their user, and
	// Env has further variables as NAME=VALUE.
	Entrypoint []string `json:"entrypoint,omitempty"`
	User       string   `json:"user,omitempty"`
	Env        []string `json:"env,omitempty"`
}

// Write writes the image as a Docker archive. It returns an error that names what this machine
// lacks.
func (c Custom) Write(archive string) error {
	reference, err := name.NewTag(c.Reference, name.StrictValidation)
	if err != nil {
		return err
	}
	content, err := c.tree(sources{toolDirs: searched})
	if err != nil {
		return fmt.Errorf("the image %s: %w", c.Reference, err)
	}
	layer, err := content.archive()
	if err != nil {
		return err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{
			Env: append([]string{pathInImages}, c.Env...), WorkingDir: "/", Entrypoint: c.Entrypoint, User: c.User,
		},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return err
	}
	image, err = mutate.AppendLayers(image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return err
	}
	return tarball.WriteToFile(archive, reference, image)
}

// tree collects all that is in the image.
func (c Custom) tree(from sources) (*tree, error) {
	content := newTree()
	content.links = maps.Clone(c.Links)
	for to, file := range c.Files {
		if err := content.addAll(file, to); err != nil {
			return nil, err
		}
	}
	var ours []string
	for _, name := range c.Tools {
		tool, err := from.tool(name)
		if err != nil {
			return nil, err
		}
		ours = append(ours, tool)
	}
	for _, dir := range c.Plugins {
		plugins, err := pluginsIn(dir)
		if err != nil {
			return nil, err
		}
		ours = append(ours, plugins...)
	}
	needed, err := libraries(slices.AppendSeq(slices.Clone(ours), maps.Values(content.files)))
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Concat(ours, needed) {
		if err := content.add(file, file); err != nil {
			return nil, err
		}
	}
	content.modes = map[string]int64{}
	for path, octal := range c.Modes {
		if content.modes[path], err = strconv.ParseInt(octal, 8, 16); err != nil {
			return nil, fmt.Errorf("the mode of %s: %w", path, err)
		}
	}
	return content, nil
}

// addAll adds a file, or all files below a directory.
func (t *tree) addAll(from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return t.add(file, path.Join(to, filepath.ToSlash(strings.TrimPrefix(file, from))))
	})
}
