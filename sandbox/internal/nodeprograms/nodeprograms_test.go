// SPDX-License-Identifier: Apache-2.0

package nodeprograms_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// written is a directory with these images, each with an empty archive.
func written(t *testing.T, images ...nodeprograms.Image) string {
	t.Helper()
	dir := t.TempDir()
	for _, image := range images {
		path := filepath.Join(dir, image.Archive)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	programs := nodeprograms.Programs{Versions: map[string]string{"kubernetes": "v1.2.3"}, Images: images}
	if err := programs.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func all() []nodeprograms.Image {
	var images []nodeprograms.Image
	for _, name := range []string{nodeprograms.Pause, nodeprograms.KubeProxy, nodeprograms.CoreDNS, nodeprograms.Traffic} {
		images = append(images, nodeprograms.Image{
			Name: name, Reference: "example.org/" + name + ":1", Archive: "images/" + name + ".tar", Layers: []string{"sha256:00"},
		})
	}
	return images
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := written(t, all()...)
	programs, err := nodeprograms.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := programs.Image(nodeprograms.CoreDNS)
	if err != nil {
		t.Fatal(err)
	}
	want := all()[2]
	want.Archive = filepath.Join(dir, want.Archive)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if programs.Versions["kubernetes"] != "v1.2.3" || programs.CNI() != filepath.Join(dir, "bin", "cni") {
		t.Errorf("got %+v", programs)
	}
}

func TestADirectoryThatIsNotCompleteIsRejected(t *testing.T) {
	outside := all()
	outside[0].Archive = "../pause.tar"
	noArchive := written(t, all()...)
	if err := os.Remove(filepath.Join(noArchive, "images", "traffic.tar")); err != nil {
		t.Fatal(err)
	}
	notJSON := t.TempDir()
	if err := os.WriteFile(filepath.Join(notJSON, nodeprograms.File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ dir, says string }{
		"empty":                   {t.TempDir(), "programs.json: no such file"},
		"not JSON":                {notJSON, "programs.json: unexpected end"},
		"without an image":        {written(t, all()[1:]...), "no image pause; there are kube-proxy, coredns, traffic"},
		"without an archive":      {noArchive, "traffic.tar: no such file"},
		"with an archive outside": {written(t, outside...), `"../pause.tar" of image pause is outside`},
	} {
		_, err := nodeprograms.Read(test.dir)
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.HasPrefix(err.Error(), test.dir) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.says)
		}
	}
}
