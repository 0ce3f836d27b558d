// SPDX-License-Identifier: Apache-2.0

// Package imagearchive checks an archive of images before nodes import it, so that a user
// reads what is wrong with it instead of an error of containerd. Pods find an image of an
// archive by its name, and only if it is for the processors of this machine.
package imagearchive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The files that say what is in an archive: the first is that of `docker save`, the others
// are those of an OCI layout. containerd takes an archive with both for an OCI layout.
const (
	dockerManifest = "manifest.json"
	layoutFile     = "oci-layout"
	layoutIndex    = "index.json"
)

// The annotations in which an OCI layout has the name of an image. containerd takes the first
// one that is there.
var nameAnnotations = []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"}

// Check returns an error unless the file at path is a tar archive, compressed by gzip or not
// at all, with images that pods can run: each has a name, and is for Linux and the
// architecture of this program. It does not check layers.
func Check(path string) error {
	documents, err := read(path)
	if err != nil {
		return err
	}
	switch {
	case documents[layoutFile] != nil:
		return checkLayout(documents)
	case documents[dockerManifest] != nil:
		return checkDocker(documents)
	}
	return fmt.Errorf("it is an archive, but has no images: neither %s, as `docker save` writes it, nor %s and %s of an OCI layout are at its top",
		dockerManifest, layoutFile, layoutIndex)
}

// checkDocker checks an archive of `docker save`.
func checkDocker(documents documents) error {
	var images []struct {
		Config   string
		RepoTags []string
	}
	if err := documents.decode(dockerManifest, &images); err != nil {
		return err
	}
	if len(images) == 0 {
		return fmt.Errorf("%s names no image", dockerManifest)
	}
	for _, image := range images {
		if len(image.RepoTags) == 0 {
			return fmt.Errorf("the image with the config %s has no name, so that no pod can have it; save it by its name, as in `docker save registry.example/agent:v1`", image.Config)
		}
		for _, name := range image.RepoTags {
			if _, err := reference.ParseNormalizedNamed(name); err != nil {
				return fmt.Errorf("the name %q of an image: %w", name, err)
			}
		}
		config := v1.ConfigFile{}
		if err := documents.decode(path.Clean(image.Config), &config); err != nil {
			return err
		}
		if err := forThisMachine(strings.Join(image.RepoTags, ", "), config); err != nil {
			return err
		}
	}
	return nil
}

// checkLayout checks an archive of an OCI layout.
func checkLayout(documents documents) error {
	var index v1.IndexManifest
	if err := documents.decode(layoutIndex, &index); err != nil {
		return err
	}
	if len(index.Manifests) == 0 {
		return fmt.Errorf("%s names no image", layoutIndex)
	}
	for _, image := range index.Manifests {
		name, err := nameOf(image)
		if err == nil {
			err = documents.checkImage(name, image)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of an image in an OCI layout, if it is the one by which the kubelet
// asks for it.
func nameOf(image v1.Descriptor) (string, error) {
	for _, annotation := range nameAnnotations {
		name := image.Annotations[annotation]
		if name == "" {
			continue
		}
		if !strings.ContainsAny(name, "/:@") {
			return "", fmt.Errorf("the name of image %s is only the tag %q, in the annotation %s of %s; give it one like registry.example/agent:%s", image.Digest, name, annotation, layoutIndex, name)
		}
		named, err := reference.ParseNormalizedNamed(name)
		if err != nil {
			return "", fmt.Errorf("the name %q of image %s: %w", name, image.Digest, err)
		}
		if full := reference.TagNameOnly(named).String(); full != name {
			return "", fmt.Errorf("the name of image %s is %q, in the annotation %s of %s, but nodes look for %q", image.Digest, name, annotation, layoutIndex, full)
		}
		return name, nil
	}
	return "", fmt.Errorf("image %s has no name, so that no pod can have it; its entry in %s needs the annotation %s, like registry.example/agent:v1", image.Digest, layoutIndex, nameAnnotations[1])
}

// checkImage checks an image, or one for several platforms.
func (d documents) checkImage(name string, image v1.Descriptor) error {
	if !image.MediaType.IsIndex() {
		config, err := d.config(image)
		if err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		return forThisMachine(name, config)
	}
	var platforms v1.IndexManifest
	if err := d.decode(blob(image.Digest), &platforms); err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	others := map[string]bool{}
	for _, one := range platforms.Manifests {
		if one.Platform == nil || one.MediaType.IsIndex() {
			continue
		}
		config := v1.ConfigFile{OS: one.Platform.OS, Architecture: one.Platform.Architecture}
		if forThisMachine(name, config) == nil {
			_, err := d.config(one)
			return err
		}
		others[config.OS+"/"+config.Architecture] = true
	}
	return fmt.Errorf("image %s is for %s, but this machine is linux/%s", name, strings.Join(slices.Sorted(maps.Keys(others)), ", "), runtime.GOARCH)
}

// config reads the config of the image for one platform.
func (d documents) config(image v1.Descriptor) (config v1.ConfigFile, err error) {
	var manifest v1.Manifest
	if err := d.decode(blob(image.Digest), &manifest); err != nil {
		return config, err
	}
	return config, d.decode(blob(manifest.Config.Digest), &config)
}

func blob(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

// forThisMachine returns an error if the image says that it is for other machines.
func forThisMachine(name string, config v1.ConfigFile) error {
	if (config.OS == "" || config.OS == "linux") && (config.Architecture == "" || config.Architecture == runtime.GOARCH) {
		return nil
	}
	return fmt.Errorf("image %s is for %s/%s, but this machine is linux/%s", name, config.OS, config.Architecture, runtime.GOARCH)
}

// decode reads the document of that name.
func (d documents) decode(name string, into any) error {
	content, found := d[name]
	if !found {
		return fmt.Errorf("the archive lacks %s", name)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return errors.Join(fmt.Errorf("the archive's %s cannot be read", name), err)
	}
	return nil
}
