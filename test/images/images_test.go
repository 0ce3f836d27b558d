// SPDX-License-Identifier: Apache-2.0

// Package images tests the images that make images writes.
package images

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

// filesIn returns the files of an archive.
func filesIn(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
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

// makeImages runs make images, and returns the directory with the archives.
func makeImages(t *testing.T, variables ...string) string {
	t.Helper()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "make", append([]string{"-C", "../..", "images", "IMAGES=" + dir}, variables...)...)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MAKE") })
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// A user who puts the images where their names point to needs no other setting.
func TestTheProbesImageHasTheNameThatPodsAskFor(t *testing.T) {
	g := NewWithT(t)
	bundle, _ := probe.Bundle(&plugin.Input{Environment: plugin.Environment{Probe: &plugin.Probe{}}})
	wanted := manifest.Workload[*appsv1.DaemonSet](bundle.Objects).Spec.Template.Spec.Containers[0]
	g.Expect(wanted.Command).To(BeEmpty(), "the image has the entry point")
	g.Expect(namesIn(t, makeImages(t))).To(HaveKeyWithValue("trellis-probe", []string{wanted.Image}))
}

func TestAnImageHasNothingButItsStaticProgram(t *testing.T) {
	g := NewWithT(t)
	dir := makeImages(t, "REGISTRY=registry.example.org", "TAG=v9")
	g.Expect(namesIn(t, dir)).To(Equal(map[string][]string{
		"trellis-operator": {"registry.example.org/trellis-operator:v9"}, "trellis-admission": {"registry.example.org/trellis-admission:v9"}, "trellis-probe": {"registry.example.org/trellis-probe:v9"},
	}))
	for _, program := range []string{"trellis-operator", "trellis-admission", "trellis-probe"} {
		image := open(t, filepath.Join(dir, program+".tar"))
		g.Expect(image.layers).To(HaveLen(1))
		g.Expect(image.layers[0]).To(And(HaveLen(1), HaveKey(program)))
		g.Expect(image.config.Config.Entrypoint).To(Equal([]string{"/" + program}))
		g.Expect(image.config.Config.User).To(Equal("65532"), "not root, and a number, which runAsNonRoot needs")

		parsed, err := elf.NewFile(bytes.NewReader(image.layers[0][program]))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parsed.Progs).NotTo(ContainElement(HaveField("Type", elf.PT_INTERP)), "it runs where nothing else is")
	}
}

// image is what a Docker archive has of one image.
type image struct {
	names  []string
	config struct {
		Config struct {
			Entrypoint []string
			User       string
		} `json:"config"`
	}
	layers []map[string][]byte
}

func open(t *testing.T, archive string) (found image) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(archive)
	g.Expect(err).NotTo(HaveOccurred())
	files := filesIn(t, content)
	var index []struct {
		Config           string
		RepoTags, Layers []string
	}
	g.Expect(json.Unmarshal(files["manifest.json"], &index)).To(Succeed())
	g.Expect(index).To(HaveLen(1))
	g.Expect(json.Unmarshal(files[index[0].Config], &found.config)).To(Succeed())
	for _, layer := range index[0].Layers {
		found.layers = append(found.layers, filesIn(t, files[layer]))
	}
	found.names = index[0].RepoTags
	return found
}

// namesIn returns the names of the images in a directory, by program.
func namesIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	names := map[string][]string{}
	for _, archive := range archives {
		names[strings.TrimSuffix(filepath.Base(archive), ".tar")] = open(t, archive).names
	}
	return names
}
