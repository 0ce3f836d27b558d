// SPDX-License-Identifier: Apache-2.0

// Package nodeimages assembles the images of the pods of real nodes, from programs that were
// built and from tools of this machine.
package nodeimages

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// searched has the directories with tools, whatever the user's PATH is: they are those of the
// images too.
var searched = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}

const pathInImages = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// components has, for each version of nodeprograms.Programs, a program and the Go module in it
// that the version is of.
var components = map[string]struct{ program, module string }{
	"kubernetes":  {"bin/kubelet", "k8s.io/kubernetes"},
	"containerd":  {"bin/containerd", "github.com/containerd/containerd/v2"},
	"cni-plugins": {"bin/cni/bridge", "github.com/containernetworking/plugins"},
	"coredns":     {"parts/coredns", "github.com/coredns/coredns"},
}

// Assemble writes images and programs.json into a directory, which has the programs in bin
// and parts already. The checkout is that of Trellis, whose plugins name images. Assemble
// returns an error that names the tool if this machine lacks one.
func Assemble(dir, checkout string) error {
	return assemble(dir, checkout, all, sources{programs: dir, toolDirs: searched})
}

func assemble(dir, checkout string, images []image, from sources) error {
	versions, err := versionsIn(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return err
	}
	programs := nodeprograms.Programs{Versions: versions}
	built := map[*layer]v1.Layer{}
	for _, image := range images {
		described, err := image.write(dir, checkout, from, built)
		if err != nil {
			return fmt.Errorf("assemble the image %s: %w", image.name, err)
		}
		programs.Images = append(programs.Images, described)
	}
	return programs.Write(dir)
}

// versionsIn reads the versions that the programs have recorded.
func versionsIn(dir string) (map[string]string, error) {
	versions := map[string]string{}
	for component, of := range components {
		info, err := buildinfo.ReadFile(filepath.Join(dir, of.program))
		if err != nil {
			return nil, err
		}
		// The first is the module of the program's main package.
		for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if module.Path == of.module {
				versions[component] = module.Version
			}
		}
		if versions[component] == "" {
			return nil, fmt.Errorf("%s does not contain %s", of.program, of.module)
		}
	}
	return versions, nil
}

// write writes the image's archive. It builds the layers that are not built yet.
func (i image) write(dir, checkout string, from sources, built map[*layer]v1.Layer) (nodeprograms.Image, error) {
	described := nodeprograms.Image{Name: i.name, Archive: filepath.Join("images", i.name+".tar")}
	reference, err := i.reference(checkout)
	if err != nil {
		return described, err
	}
	described.Reference = reference.String()
	content, err := i.config()
	if err != nil {
		return described, err
	}
	for _, part := range i.layers {
		if built[part] == nil {
			if built[part], err = from.build(part); err != nil {
				return described, err
			}
		}
		digest, err := built[part].Digest()
		if err != nil {
			return described, err
		}
		described.Layers = append(described.Layers, digest.String())
		if content, err = mutate.AppendLayers(content, built[part]); err != nil {
			return described, err
		}
	}
	return described, tarball.WriteToFile(filepath.Join(dir, described.Archive), reference, content)
}

// config is the image without layers.
func (i image) config() (v1.Image, error) {
	config := &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{Env: []string{pathInImages}, WorkingDir: "/"},
		RootFS: v1.RootFS{Type: "layers"},
	}
	if i.entrypoint != "" {
		config.Config.Entrypoint = []string{i.entrypoint}
	}
	return mutate.ConfigFile(empty.Image, config)
}

// reference is what pods name the image.
func (i image) reference(checkout string) (name.Tag, error) {
	if i.published == "" {
		// No registry can have this host name.
		return name.NewTag("sandbox.invalid/"+i.name+":v1", name.StrictValidation)
	}
	reference, err := published(filepath.Join(checkout, i.published), i.name)
	if err != nil {
		return name.Tag{}, err
	}
	return name.NewTag(reference, name.StrictValidation)
}
