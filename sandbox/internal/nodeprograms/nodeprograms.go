// SPDX-License-Identifier: Apache-2.0

// Package nodeprograms describes the directory with what real nodes run: the programs of a
// node, and the images of its pods. `go run ./test/sandbox/build -real-nodes` makes such a
// directory:
//
//	bin       containerd, containerd-shim-runc-v2, ctr, kubelet, kube-proxy
//	bin/cni   bridge, host-local, loopback, portmap
//	images    an archive for each image
//	programs.json
package nodeprograms

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// File is the name of the file in the directory that describes the rest.
const File = "programs.json"

// The names of the images that the sandbox itself runs. The others are those of networks.
const (
	// Pause holds the namespaces of a pod.
	Pause = "pause"
	// KubeProxy is kube-proxy, as /usr/bin/kube-proxy, with nft, iptables and conntrack.
	KubeProxy = "kube-proxy"
	// CoreDNS is CoreDNS. Its entry point is the program.
	CoreDNS = "coredns"
	// Traffic is the program traffic, which sends packets and answers them, with a shell, ip
	// and ping. Its entry point is the program; without arguments it answers.
	Traffic = "traffic"
)

// Programs are what nodes run.
type Programs struct {
	// Dir is the directory that Read read, as an absolute path.
	Dir string `json:"-"`
	// Versions are the versions of containerd, cni-plugins, coredns and kubernetes, by these
	// names. They begin with a v.
	Versions map[string]string `json:"versions"`
	// Images are all images. Images with the same content have the same layer for it.
	Images []Image `json:"images"`
}

// Image is the image of a container.
type Image struct {
	// Name is what Programs.Image finds the image by.
	Name string `json:"name"`
	// Reference is the image of containers in pods, like registry/name:tag. No registry has
	// the image: each node imports it.
	Reference string `json:"reference"`
	// Archive is a path, which is relative to the directory in programs.json, and absolute
	// after Read. The file is a docker-archive, a tar archive that is not compressed. Its layers
	// are not compressed either.
	Archive string `json:"archive"`
	// Layers are the digests of the image's layers, the lowest first, like sha256:….
	Layers []string `json:"layers"`
}

// Read reads the description of a directory. It returns an error, which names the directory,
// if the file cannot be read, if an archive that it names is not there, or if it misses an
// image that the sandbox runs.
func Read(dir string) (*Programs, error) {
	programs, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("%s does not hold the programs of nodes: %w", dir, err)
	}
	return programs, nil
}

func read(dir string) (*Programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	programs := &Programs{Dir: dir}
	if err := json.Unmarshal(content, programs); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	var missing []error
	for i := range programs.Images {
		image := &programs.Images[i]
		if !filepath.IsLocal(image.Archive) {
			return nil, fmt.Errorf("%s: the archive %q of image %s is outside the directory", File, image.Archive, image.Name)
		}
		image.Archive = filepath.Join(dir, image.Archive)
		if _, err := os.Stat(image.Archive); err != nil {
			missing = append(missing, err)
		}
	}
	for _, name := range []string{Pause, KubeProxy, CoreDNS, Traffic} {
		if _, err := programs.Image(name); err != nil {
			missing = append(missing, err)
		}
	}
	return programs, errors.Join(missing...)
}

// Image returns the image with this name, or an error that names those that there are.
func (p *Programs) Image(name string) (Image, error) {
	var names []string
	for _, image := range p.Images {
		if image.Name == name {
			return image, nil
		}
		names = append(names, image.Name)
	}
	return Image{}, fmt.Errorf("there is no image %s; there are %s", name, strings.Join(names, ", "))
}

// Bin is the directory with the programs of a node.
func (p *Programs) Bin() string { return filepath.Join(p.Dir, "bin") }

// CNI is the directory with the CNI plugins that networks delegate to. A network's own plugins are in its
// images.
func (p *Programs) CNI() string { return filepath.Join(p.Bin(), "cni") }

// Write writes the description into a directory, where Read finds it.
func (p *Programs) Write(dir string) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, File), append(content, '\n'), 0o644)
}
