// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
)

// containerd imports the archives under the names of the images, and runs a program as the user that
// has no rights, in a file system that it cannot write to.
func TestContainerdRunsTheImages(t *testing.T) {
	g := NewWithT(t)
	ctr := startContainerd(t)
	for _, program := range programs {
		output, err := ctr("images", "import", "--no-unpack", archive(t, program))
		g.Expect(err).NotTo(HaveOccurred(), output)
	}
	names, err := ctr("images", "list", "--quiet")
	g.Expect(err).NotTo(HaveOccurred(), names)
	for _, program := range programs {
		g.Expect(names).To(ContainSubstring("ghcr.io/trellis-network/" + program + ":v0.1.0\n"))
	}
	output, err := ctr("run", "--rm", "--read-only", "--snapshotter", "native", "--cgroup", "", "--fifo-dir", t.TempDir(),
		"ghcr.io/trellis-network/trellis:v0.1.0", "explain", "/trellis", "explain", "calico.overlay.enabled")
	g.Expect(err).NotTo(HaveOccurred(), output)
	g.Expect(output).To(ContainSubstring("overlay.enabled"))
}

// apart are arguments of unshare: namespaces of its own for processes and mounts.
var apart = []string{"--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}

// startContainerd starts containerd, and returns what calls its client. All that containerd starts,
// mounts, and writes to /run, ends with it.
func startContainerd(t *testing.T) (ctr func(args ...string) (output string, err error)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("containerd needs root")
	}
	nodePrograms, err := sandbox.NodePrograms()
	if err != nil {
		t.Skip("there is no containerd: ", err)
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("containerd needs runc, which make deps installs: ", err)
	}
	if output, err := exec.CommandContext(t.Context(), "unshare", append(slices.Clone(apart), "mount", "-t", "tmpfs", "none", "/run")...).CombinedOutput(); err != nil {
		t.Skipf("containerd needs the right to make namespaces and to mount: %v: %s", err, output)
	}
	g := NewWithT(t)
	bin := filepath.Join(nodePrograms, "bin")
	dir := t.TempDir()
	socket, config := filepath.Join(dir, "s"), filepath.Join(dir, "config.toml")
	g.Expect(os.WriteFile(config, []byte(`version = 3
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
`), 0o600)).To(Succeed())
	var log bytes.Buffer
	daemon := exec.Command("unshare", append(slices.Clone(apart), "sh", "-c", `mount -t tmpfs none /run && exec "$0" "$@"`,
		filepath.Join(bin, "containerd"), "--config", config, "--address", socket, "--root", filepath.Join(dir, "root"), "--state", "/run/containerd")...)
	daemon.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	daemon.Stdout, daemon.Stderr = &log, &log
	g.Expect(daemon.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // and with it all in its namespaces
		_ = daemon.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	ctr = func(args ...string) (string, error) {
		output, err := exec.CommandContext(t.Context(), filepath.Join(bin, "ctr"), append([]string{"--address", socket}, args...)...).CombinedOutput()
		return string(output), err
	}
	g.Eventually(func() error {
		_, err := ctr("version")
		return err
	}, time.Minute, 100*time.Millisecond).Should(Succeed())
	return ctr
}
