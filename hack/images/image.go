// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the number of the user and of the group of all programs. Kubernetes' runAsNonRoot demands
// a number.
const user = "65532"

// passwd and group name them, as in distroless images.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + user + ":" + user + ":nonroot:/:/sbin/nologin\n"
	group  = "root:x:0:\nnonroot:x:" + user + ":\n"
)

// image is the image of a program for one architecture. It has the static program and the names of
// its users. It has no certificates: kubeconfigs and pods have those of the API servers.
type image struct {
	v1.Image
	reference     name.Tag
	program, arch string
	// binary is the path of the program on this machine.
	binary string
}

func newImage(reference name.Tag, program, arch, binary string) (*image, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files, err := layer(program, content)
	if err != nil {
		return nil, err
	}
	packed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	configured, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: arch, OS: "linux",
		// The time of the epoch stands for all times, so that they change no digest.
		Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		Config: v1.Config{
			Entrypoint: []string{"/" + program}, User: user, WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":    program,
				"org.opencontainers.image.version":  reference.TagStr(),
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	complete, err := mutate.Append(configured, mutate.Addendum{Layer: packed, History: v1.History{
		Created: v1.Time{Time: time.Unix(0, 0).UTC()}, CreatedBy: "hack/images",
	}})
	return &image{complete, reference, program, arch, binary}, err
}

// layer is an archive of what the image has.
func layer(program string, content []byte) ([]byte, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte(group)},
		{"etc/passwd", 0o644, []byte(passwd)},
		{program, 0o755, content},
	} {
		if err := appendFile(writer, file.name, file.mode, file.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil { // writes the end of the archive
		return nil, err
	}
	return archive.Bytes(), nil
}

// appendFile adds a file of root to an archive, or a directory if its name ends with a slash. All have
// the time of the epoch.
func appendFile(archive *tar.Writer, name string, mode int64, content []byte) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if content == nil {
		header.Typeflag = tar.TypeDir
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// write writes the image's archive and its list of contents into a directory.
func (i *image) write(dir string) error {
	base := filepath.Join(dir, i.program+"-"+i.arch)
	packed, err := i.archive()
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".tar", packed, 0o644); err != nil {
		return err
	}
	list, err := i.sbom()
	if err != nil {
		return err
	}
	return os.WriteFile(base+".spdx.json", list, 0o644)
}
