// SPDX-License-Identifier: Apache-2.0

package test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// theirs is the image of a user: that of traffic, with a file /whose that holds a text.
func theirs(t *testing.T, programs *nodeprograms.Programs, text string) v1.Image {
	t.Helper()
	traffic, err := programs.Image(nodeprograms.Traffic)
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	files := tar.NewWriter(&content)
	if err := files.WriteHeader(&tar.Header{Name: "whose", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(files, text); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(load(t, traffic), layer)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// runPod runs a pod with an image, on a node that may not be Ready, and in its network.
func (s *sandbox) runPod(t *testing.T, named, image string) {
	t.Helper()
	manifest := strings.NewReplacer("NAME", named, "IMAGE", image).Replace(`
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  hostNetwork: true
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: IMAGE
    imagePullPolicy: IfNotPresent
    args: [serve, -listen, "127.0.0.1:0"]
    resources: {limits: {memory: 64Mi}}
`)
	if out, err := s.apply(s.Shoots[0].Kubeconfig, manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestPodsRunFromImagesInArchives has an image in an archive as `docker save` writes it, and
// another one in an OCI layout. One of the archives is named by a relative path.
func TestPodsRunFromImagesInArchives(t *testing.T) {
	needsRealNodes(t)
	programs := realNodes(t)
	dir := t.TempDir()
	docker := filepath.Join(dir, "docker.tar")
	if err := tarball.WriteToFile(docker, name.MustParseReference("agents.example/docker:v1"), theirs(t, programs, "docker")); err != nil {
		t.Fatal(err)
	}
	unpacked, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := unpacked.AppendImage(theirs(t, programs, "oci"), layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": "agents.example/oci:v1",
	})); err != nil {
		t.Fatal(err)
	}
	oci, err := os.Create(filepath.Join(dir, "oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	packed := tar.NewWriter(oci)
	if err := packed.AddFS(os.DirFS(filepath.Join(dir, "layout"))); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, docker)
	if err != nil {
		t.Fatal(err)
	}

	s := up(t, "--dir", filepath.Join(dir, "sandbox"), "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", programs.Dir,
		"--image", relative, "--image", oci.Name())
	for _, image := range []string{"docker", "oci"} {
		s.runPod(t, image, "agents.example/"+image+":v1")
	}
	for _, image := range []string{"docker", "oci"} {
		s.must(t, s.Shoots[0].Kubeconfig, "wait", "--for=condition=Ready", "pod/"+image, "--timeout=60s")
		if got := s.must(t, s.Shoots[0].Kubeconfig, "exec", image, "--", "cat", "/whose"); got != image {
			t.Errorf("the pod %s has the file of %q", image, got)
		}
	}
}

// A check of the archive does not read its layers, so their end is found when they are imported.
func TestAnArchiveWithADamagedLayerEndsTheStart(t *testing.T) {
	needsRealNodes(t)
	programs := realNodes(t)
	dir := t.TempDir()
	archive := filepath.Join(dir, "damaged.tar")
	image := theirs(t, programs, strings.Repeat("a text that is in the archive as it is", 10))
	if err := tarball.WriteToFile(archive, name.MustParseReference("agents.example/damaged:v1"), image); err != nil {
		t.Fatal(err)
	}
	// The last layer is the last file before the manifest, and has less than a block of 512 bytes.
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.LastIndex(content, []byte("manifest.json")) - 512 + 30
	copy(content[damaged:], bytes.Repeat([]byte{0xff}, 20))
	if err := os.WriteFile(archive, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--dir", filepath.Join(dir, "sandbox"), "--shoot=garden-dev/one", "--nodes=real:1", "--node-programs", programs.Dir, "--image", archive)
	s.endsWith(t, "import the images of "+archive)
}

// endsWith waits until the sandbox ends by itself, and checks that it says why and leaves
// nothing behind.
func (s *sandbox) endsWith(t *testing.T, why string) {
	t.Helper()
	pid := s.cmd.Process.Pid
	_, _ = io.Copy(io.Discard, s.stdout)
	_ = s.cmd.Wait()
	if status := s.cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(s.stderr.String(), why) {
		t.Errorf("exit status %d, want %q in\n%s", status, why, s.stderr)
	}
	noCgroups(t, pid)
}
