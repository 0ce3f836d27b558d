// SPDX-License-Identifier: Apache-2.0

package nodeimages

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestACustomImageHasItsFilesWithTheirRights(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "agent"), "the agent")
	write(t, filepath.Join(dir, "etc", "service", "run"), "a script")
	archive := filepath.Join(dir, "image.tar")
	image := Custom{
		Reference:  "example.org/agent:v1",
		Files:      map[string]string{"/bin/agent": filepath.Join(dir, "agent"), "/etc": filepath.Join(dir, "etc")},
		Links:      map[string]string{"/bin/sh": "bash"},
		Modes:      map[string]string{"/bin/agent": "4755", "/status": "777", "/etc/service": "775"},
		Entrypoint: []string{"agent", "run"}, User: "999", Env: []string{"A=b"},
	}
	if err := image.Write(archive); err != nil {
		t.Fatal(err)
	}
	written, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := written.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config; len(got.Entrypoint) != 2 || got.User != "999" || len(got.Env) != 2 || got.Env[1] != "A=b" {
		t.Errorf("got %+v", got)
	}
	layers, err := written.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	stream, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for files := tar.NewReader(stream); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[file.Name] = file.Mode
	}
	want := map[string]int64{
		"bin/": 0o755, "bin/agent": 0o4755, "bin/sh": 0o777,
		"etc/": 0o755, "etc/service/": 0o775, "etc/service/run": 0o755, "status/": 0o777,
	}
	if !maps.Equal(modes, want) {
		t.Errorf("got %v, want %v", modes, want)
	}
}

func TestWhatACustomImageLacksIsNamed(t *testing.T) {
	for _, lacking := range []Custom{
		{Tools: []string{"no-such-tool"}}, {Plugins: []string{"no-such-tool"}}, {Files: map[string]string{"/a": "/etc/no-such-tool"}},
	} {
		lacking.Reference = "example.org/agent:v1"
		if err := lacking.Write(filepath.Join(t.TempDir(), "image.tar")); err == nil {
			t.Errorf("%+v was written", lacking)
		}
	}
}
