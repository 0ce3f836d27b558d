// SPDX-License-Identifier: Apache-2.0

package imagearchive

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const agent = "registry.example/agent:v1"

// anImage has a layer, and a config for an architecture.
func anImage(t *testing.T, architecture string) v1.Image {
	t.Helper()
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// docker writes an archive as `docker save` does.
func docker(t *testing.T, image v1.Image, named string) string {
	t.Helper()
	reference, err := name.ParseReference(named)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "docker.tar")
	if err := tarball.WriteToFile(path, reference, image); err != nil {
		t.Fatal(err)
	}
	return path
}

// oci writes an archive of an OCI layout with what is added to its index.
func oci(t *testing.T, add mutate.Appendable, annotations map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	into, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	options := []layout.Option{layout.WithAnnotations(annotations)}
	switch add := add.(type) {
	case v1.Image:
		err = into.AppendImage(add, options...)
	case v1.ImageIndex:
		err = into.AppendIndex(add, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return archive(t, dir)
}

// archive packs a directory.
func archive(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "packed.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed := tar.NewWriter(file)
	if err := packed.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// forPlatforms is one image for several architectures.
func forPlatforms(t *testing.T, architectures ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, architecture := range architectures {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        anImage(t, architecture),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	return index
}

func compressed(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	writer := gzip.NewWriter(file)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// half is the first half of a file, up to the middle of a block of 512 bytes.
func half(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, string(content[:len(content)/2/512*512+256]))
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func named(name string) map[string]string {
	return map[string]string{"org.opencontainers.image.ref.name": name}
}

func TestArchivesThatNodesCanImport(t *testing.T) {
	here := anImage(t, runtime.GOARCH)
	for what, path := range map[string]string{
		"docker save":               docker(t, here, agent),
		"docker save, compressed":   compressed(t, docker(t, here, agent)),
		"docker save, a short name": docker(t, here, "agent:v1"),
		"OCI layout":                oci(t, here, named(agent)),
		"OCI layout, compressed":    compressed(t, oci(t, here, named(agent))),
		"OCI layout of docker save": oci(t, here, map[string]string{
			"org.opencontainers.image.ref.name": "v1", "io.containerd.image.name": agent,
		}),
		"OCI layout, for several platforms": oci(t, forPlatforms(t, "s390x", runtime.GOARCH), named(agent)),
	} {
		if err := Check(path); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Each error says what is wrong and, where a user can change it, what to do.
func TestArchivesThatNodesCannotImport(t *testing.T) {
	here, elsewhere := anImage(t, runtime.GOARCH), anImage(t, "s390x")
	unnamed := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(unnamed, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("manifest.json", `[{"Config": "config.json", "RepoTags": null}]`)
	write("config.json", `{"os": "linux"}`)
	others := t.TempDir()
	if err := os.WriteFile(filepath.Join(others, "README"), []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	lacking := t.TempDir()
	if err := os.WriteFile(filepath.Join(lacking, "manifest.json"), []byte(`[{"Config": "gone.json", "RepoTags": ["a:b"]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		path string
		want []string
	}{
		"nothing there":                           {filepath.Join(t.TempDir(), "x.tar"), []string{"no such file"}},
		"a directory":                             {t.TempDir(), []string{"is a directory", "tar -C"}},
		"a device":                                {os.DevNull, []string{"no file"}},
		"an empty file":                           {file(t, ""), []string{"empty"}},
		"a text":                                  {file(t, strings.Repeat("not an archive\n", 100)), []string{"no tar archive", "docker save"}},
		"a compressed text":                       {compressed(t, file(t, strings.Repeat("not an archive\n", 100))), []string{"no tar archive"}},
		"an archive of others":                    {archive(t, others), []string{"no images", "manifest.json"}},
		"half an archive":                         {half(t, docker(t, here, agent)), []string{"ends in the middle"}},
		"half of what compressed":                 {half(t, compressed(t, docker(t, here, agent))), []string{"ends in the middle"}},
		"another architecture":                    {docker(t, elsewhere, agent), []string{agent, "linux/s390x", "linux/" + runtime.GOARCH}},
		"no name":                                 {archive(t, unnamed), []string{"config.json", "no name", "docker save"}},
		"no config":                               {archive(t, lacking), []string{"lacks gone.json"}},
		"OCI layout, another architecture":        {oci(t, elsewhere, named(agent)), []string{agent, "linux/s390x"}},
		"OCI layout, only for other platforms":    {oci(t, forPlatforms(t, "s390x", "ppc64le"), named(agent)), []string{agent, "linux/ppc64le, linux/s390x"}},
		"OCI layout, no name":                     {oci(t, here, nil), []string{"no name", "org.opencontainers.image.ref.name"}},
		"OCI layout, a tag only":                  {oci(t, here, named("v1")), []string{`only the tag "v1"`, "registry.example/agent:v1"}},
		"OCI layout, a name that is not the full": {oci(t, here, named("agent:v1")), []string{`"docker.io/library/agent:v1"`}},
		"OCI layout without images":               {oci(t, nil, nil), []string{"names no image"}},
	} {
		err := Check(test.path)
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not contain %q", what, err, want)
			}
		}
	}
}

// A config that lies about its size is not read into memory.
func TestLargeDocumentsAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed := tar.NewWriter(file)
	if err := packed.WriteHeader(&tar.Header{Name: "manifest.json", Typeflag: tar.TypeReg, Size: maxDocument + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(packed, strings.NewReader(strings.Repeat("[", maxDocument+1)), maxDocument+1); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "no images") {
		t.Errorf("got %v", err)
	}
}
