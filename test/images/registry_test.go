// SPDX-License-Identifier: Apache-2.0

package images

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
)

// emptyRegistry returns the host of a registry that this process runs.
func emptyRegistry(t *testing.T) string {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// `crane push` reads an archive with crane.Load, and writes it as crane.Push does.
func TestARegistryTakesTheArchive(t *testing.T) {
	g := NewWithT(t)
	reference := emptyRegistry(t) + "/trellis-operator:v1"
	image, err := crane.Load(archive(t, "trellis-operator"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(crane.Push(image, reference, crane.WithContext(t.Context()))).To(Succeed())

	pulled, err := crane.Pull(reference, crane.WithContext(t.Context()))
	g.Expect(err).NotTo(HaveOccurred())
	config, err := image.ConfigName()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pulled.ConfigName()).To(Equal(config))
	g.Expect(filesIn(t, pulled)).To(HaveKey("trellis-operator"))
}

// `crane push` writes the one index that a directory has. Nodes of each architecture pull their image
// by the same name, and it is the one in the archive.
func TestARegistryTakesTheImageOfAllArchitectures(t *testing.T) {
	g := NewWithT(t)
	reference, err := name.ParseReference(emptyRegistry(t) + "/trellis-probe:v1")
	g.Expect(err).NotTo(HaveOccurred())
	directory, err := layout.ImageIndexFromPath(filepath.Join(probeImages(t), "trellis-probe"))
	g.Expect(err).NotTo(HaveOccurred())
	contents, err := directory.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(contents.Manifests).To(HaveLen(1))
	index, err := directory.ImageIndex(contents.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(remote.WriteIndex(reference, index, remote.WithContext(t.Context()))).To(Succeed())

	for _, arch := range []string{"amd64", "arm64"} {
		pulled, err := remote.Image(reference, remote.WithContext(t.Context()), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pulled.Digest()).To(Equal(digestIn(t, filepath.Join(probeImages(t), "trellis-probe-"+arch+".tar"))))
	}
}
