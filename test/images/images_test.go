// SPDX-License-Identifier: Apache-2.0

// Package images tests the images that make images writes.
package images

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

var programs = []string{"trellis-operator", "trellis-admission", "trellis-probe", "trellis"}

// shared has the images of all programs for the architecture of this machine, which Go's cache has
// compiled, and those of the probe for two.
var shared struct {
	once       sync.Once
	all, probe string
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, dir := range []string{shared.all, shared.probe} {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(status)
}

// allImages returns the directory with the images of all programs for the architecture of this
// machine, and probeImages that with the probe's for amd64 and arm64.
func allImages(t *testing.T) string {
	makeShared(t)
	return shared.all
}

func probeImages(t *testing.T) string {
	makeShared(t)
	return shared.probe
}

func makeShared(t *testing.T) {
	t.Helper()
	shared.once.Do(func() {
		shared.all = makeImages(t, "ARCHITECTURES="+runtime.GOARCH)
		shared.probe = makeImages(t, "IMAGE_PROGRAMS=trellis-probe", "REGISTRY=registry.example.org", "TAG=v9")
	})
	if shared.all == "" || shared.probe == "" {
		t.Fatal("the images could not be made")
	}
}

// makeImages runs make images, and returns the directory with the images, which it does not remove.
func makeImages(t *testing.T, variables ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "images-")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "make", append([]string{"-C", "../..", "images", "IMAGES=" + dir}, variables...)...)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MAKE") })
	if output, err := command.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// archive is the path of the image of a program for the architecture of this machine.
func archive(t *testing.T, program string) string {
	return filepath.Join(allImages(t), program+"-"+runtime.GOARCH+".tar")
}

// A user who puts the images where their names point to needs no other setting.
func TestTheProbesImageHasTheNameThatPodsAskFor(t *testing.T) {
	g := NewWithT(t)
	bundle, _ := probe.Bundle(&plugin.Input{Environment: plugin.Environment{Probe: &plugin.Probe{}}})
	wanted := manifest.Workload[*appsv1.DaemonSet](bundle.Objects).Spec.Template.Spec.Containers[0]
	g.Expect(wanted.Command).To(BeEmpty(), "the image has the entry point")
	_, err := crane.LoadTag(archive(t, "trellis-probe"), wanted.Image)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestAnImageHasNothingButItsStaticProgramAndTheNameOfItsUser(t *testing.T) {
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			g := NewWithT(t)
			image, err := crane.Load(archive(t, program))
			g.Expect(err).NotTo(HaveOccurred())
			config, err := image.ConfigFile()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Config.Entrypoint).To(Equal([]string{"/" + program}))
			g.Expect(config.Config.User).To(Equal("65532"), "not root, and a number, which runAsNonRoot needs")
			g.Expect(config.Architecture).To(Equal(runtime.GOARCH))

			files := filesIn(t, image)
			g.Expect(files).To(And(HaveLen(3), HaveKey("etc/group")))
			g.Expect(string(files["etc/passwd"])).To(ContainSubstring("\nnonroot:x:65532:65532:"))
			parsed, err := elf.NewFile(bytes.NewReader(files[program]))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed.Progs).NotTo(ContainElement(HaveField("Type", elf.PT_INTERP)), "it runs where nothing else is")
		})
	}
}

// The operator paces how a version reaches networks, so that it must know its own.
func TestAProgramKnowsTheTagOfItsImage(t *testing.T) {
	g := NewWithT(t)
	image, err := crane.Load(archive(t, "trellis"))
	g.Expect(err).NotTo(HaveOccurred())
	program := filepath.Join(t.TempDir(), "trellis")
	g.Expect(os.WriteFile(program, filesIn(t, image)["trellis"], 0o700)).To(Succeed())
	output, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(output)).To(HavePrefix("trellis v0.1.0, go"))
}

// An archive ends with two empty blocks. Go's reader does without, but tar and other programs do not.
func TestArchivesAreWhole(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile(archive(t, "trellis-probe"))
	g.Expect(err).NotTo(HaveOccurred())
	image, err := crane.Load(archive(t, "trellis-probe"))
	g.Expect(err).NotTo(HaveOccurred())
	layers, err := image.Layers()
	g.Expect(err).NotTo(HaveOccurred())
	stream, err := layers[0].Uncompressed()
	g.Expect(err).NotTo(HaveOccurred())
	defer stream.Close()
	layer, err := io.ReadAll(stream)
	g.Expect(err).NotTo(HaveOccurred())
	for name, each := range map[string][]byte{"the image": content, "its layer": layer} {
		g.Expect(len(each)%512).To(BeZero(), name)
		g.Expect(bytes.HasSuffix(each, make([]byte, 1024))).To(BeTrue(), name)
	}
}

func TestAnImageIsForItsArchitecture(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		g := NewWithT(t)
		image, err := crane.Load(filepath.Join(probeImages(t), "trellis-probe-"+arch+".tar"))
		g.Expect(err).NotTo(HaveOccurred())
		config, err := image.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Platform()).To(HaveValue(Equal(v1.Platform{OS: "linux", Architecture: arch})))
		parsed, err := elf.NewFile(bytes.NewReader(filesIn(t, image)["trellis-probe"]))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parsed.Machine).To(Equal(machine))
	}
}

// Two people who make the images of one version can compare their digests. The second ones are made
// in another directory, and linked anew.
func TestTheSameSourcesMakeTheSameFiles(t *testing.T) {
	again := makeImages(t, "IMAGE_PROGRAMS=trellis-probe", "REGISTRY=registry.example.org", "TAG=v9")
	t.Cleanup(func() { _ = os.RemoveAll(again) })
	first, second := tree(t, probeImages(t)), tree(t, again)
	if len(first) < 9 || len(first) != len(second) {
		t.Fatalf("there are %d and %d files", len(first), len(second))
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// tree returns the files below a directory.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, dir)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// filesIn returns the files of an image's one layer.
func filesIn(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	stream, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	return unpack(t, stream)
}

// unpack returns the files of an archive.
func unpack(t *testing.T, stream io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// digestIn returns the digest of the one image in an archive. crane.Load makes another manifest, of
// Docker's former format, from the same parts.
func digestIn(t *testing.T, archive string) v1.Hash {
	t.Helper()
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(unpack(t, bytes.NewReader(content))["index.json"]))
	if err != nil || len(index.Manifests) != 1 {
		t.Fatal(index, err)
	}
	return index.Manifests[0].Digest
}
