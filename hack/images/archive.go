// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// refName is the annotation with the tag of an image in a layout of OCI.
	refName = "org.opencontainers.image.ref.name"
	// imageName is the annotation from which containerd and Docker take the whole name.
	imageName = "io.containerd.image.name"
)

// archive is the image as `docker save` writes it: a layout of OCI, with a manifest.json for programs
// that know only Docker's former format.
func (i *image) archive() ([]byte, error) {
	manifest, err := i.RawManifest()
	if err != nil {
		return nil, err
	}
	digest, err := i.Digest()
	if err != nil {
		return nil, err
	}
	config, err := i.RawConfigFile()
	if err != nil {
		return nil, err
	}
	configDigest, err := i.ConfigName()
	if err != nil {
		return nil, err
	}
	index, err := mutate.AppendManifests(empty.Index, i.listed(map[string]string{
		refName: i.reference.TagStr(), imageName: i.reference.String(),
	})).RawManifest()
	if err != nil {
		return nil, err
	}
	docker := tarball.Descriptor{Config: blob(configDigest), RepoTags: []string{i.reference.String()}}
	contents := []file{{"blobs/", nil}, {"blobs/sha256/", nil}, {blob(configDigest), config}, {blob(digest), manifest}}
	layers, err := i.Layers()
	if err != nil {
		return nil, err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		stream, err := layer.Compressed()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(stream)
		if err := errors.Join(err, stream.Close()); err != nil {
			return nil, err
		}
		docker.Layers = append(docker.Layers, blob(digest))
		contents = append(contents, file{blob(digest), content})
	}
	dockers, err := json.Marshal(tarball.Manifest{docker})
	if err != nil {
		return nil, err
	}
	return pack(append(contents, file{"index.json", index}, file{"manifest.json", dockers},
		file{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)}))
}

// file is a file of an archive, or a directory if it has no content.
type file struct {
	name    string
	content []byte
}

func pack(files []file) ([]byte, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, file := range files {
		mode := int64(0o644)
		if file.content == nil {
			mode = 0o755
		}
		if err := appendFile(writer, file.name, mode, file.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil { // writes the end of the archive
		return nil, err
	}
	return packed.Bytes(), nil
}

// blob is the path of a content in a layout of OCI.
func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// listed is the image as an index has it.
func (i *image) listed(annotations map[string]string) mutate.IndexAddendum {
	return mutate.IndexAddendum{Add: i.Image, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "linux", Architecture: i.arch}, Annotations: annotations,
	}}
}

// writeLayout writes the images of all architectures as one, in place of what the directory had, and
// returns its digest.
func writeLayout(dir string, reference name.Tag, images []*image) (v1.Hash, error) {
	if err := os.RemoveAll(dir); err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		index = mutate.AppendManifests(index, image.listed(nil))
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		refName: reference.TagStr(), imageName: reference.String(),
	})); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
