// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// contents are the files of a layer: their content, or "-> " and the target of a link.
func contents(t *testing.T, layer v1.Layer) map[string]string {
	t.Helper()
	stream, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for files := tar.NewReader(stream); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if found[file.Name] = string(content); file.Linkname != "" {
			found[file.Name] = "-> " + file.Linkname
		}
	}
}

func TestALayerHasProgramsToolsAndLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bin", "program"), "the program")
	write(t, filepath.Join(dir, "sbin", "tool-1.2"), "the tool")
	if err := os.Symlink("tool-1.2", filepath.Join(dir, "sbin", "tool")); err != nil {
		t.Fatal(err)
	}
	from := sources{programs: dir, toolDirs: []string{filepath.Join(dir, "none"), filepath.Join(dir, "sbin")}}
	built, err := from.build(&layer{
		built: map[string]string{"bin/program": "/usr/bin/p"}, tools: []string{"tool"}, links: map[string][]string{"tool": {"sh"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := contents(t, built)
	tool := strings.TrimPrefix(filepath.Join(dir, "sbin", "tool"), "/")
	for name, want := range map[string]string{"usr/": "", "usr/bin/": "", "usr/bin/p": "the program", tool: "the tool", "bin/sh": "-> /" + tool} {
		if content, found := got[name]; !found || content != want {
			t.Errorf("%s is %q, %v, want %q", name, content, found, want)
		}
	}
}

func TestAToolBringsItsLibraries(t *testing.T) {
	const program = "/bin/ls"
	needed, err := neededBy(program)
	if err != nil {
		t.Skip(err)
	}
	if len(needed) == 0 {
		t.Skipf("%s needs no libraries on this machine", program)
	}
	built, err := (sources{toolDirs: []string{"/bin"}}).build(&layer{tools: []string{"ls"}})
	if err != nil {
		t.Fatal(err)
	}
	got := contents(t, built)
	for _, library := range needed {
		if !strings.HasPrefix(got[strings.TrimPrefix(library, "/")], "\x7fELF") {
			t.Errorf("the layer has no %s; it has %v", library, slices.Sorted(maps.Keys(got)))
		}
	}
}

func TestTheSameFilesMakeTheSameLayer(t *testing.T) {
	digest := func(programs string) string {
		built, err := (sources{programs: programs}).build(&layer{built: map[string]string{"a": "/a", "b": "/usr/b", "c": "/c"}})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := built.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return digest.String()
	}
	var digests []string
	for range 2 {
		dir := t.TempDir()
		for _, name := range []string{"a", "b", "c"} {
			write(t, filepath.Join(dir, name), name)
		}
		digests = append(digests, digest(dir))
		write(t, filepath.Join(dir, "b"), "changed")
		digests = append(digests, digest(dir))
	}
	if digests[0] != digests[2] || digests[1] != digests[3] || digests[0] == digests[1] {
		t.Errorf("got %v", digests)
	}
}

func TestAToolThatTheMachineLacksIsNamed(t *testing.T) {
	for _, lacking := range []*layer{
		{tools: []string{"no-such-tool"}}, {plugins: []string{"no-such-tool"}}, {files: []string{"/etc/no-such-tool"}},
	} {
		_, err := (sources{toolDirs: searched}).build(lacking)
		if !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "no-such-tool") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnImageOfANetworkHasTheNameThatItsPluginRenders(t *testing.T) {
	checkout := t.TempDir()
	write(t, filepath.Join(checkout, "images.yaml"), "# a comment\n- name: other\n  repository: example.org/other\n  tag: v1\n"+
		"- name: agent\n  repository: example.org/agent\n  tag: v2\n")
	for name, want := range map[string]string{"agent": "example.org/agent:v2", "none": ""} {
		reference, err := image{name: name, published: "images.yaml"}.reference(checkout)
		if want == "" {
			if err == nil || !strings.HasSuffix(err.Error(), "has no image none") {
				t.Errorf("got %v", err)
			}
		} else if err != nil || reference.String() != want {
			t.Errorf("got %s, %v", reference, err)
		}
	}
}

func TestImagesWithTheSameLayerShareIt(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "program"), "the program")
	same, built := &layer{built: map[string]string{"program": "/program"}}, map[*layer]v1.Layer{}
	var layers []string
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
			t.Fatal(err)
		}
		described, err := image{name: name, layers: []*layer{same}}.write(dir, "", sources{programs: dir}, built)
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, described.Layers...)
	}
	if len(layers) != 2 || layers[0] != layers[1] || len(built) != 1 {
		t.Errorf("got %v, built %d", layers, len(built))
	}
}
