// SPDX-License-Identifier: Apache-2.0

package test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/trellis-network/trellis/sandbox/internal/nodeprograms"
)

// realNodes reads what real nodes run. Its build takes minutes, so the tests need it only where it
// is built already.
func realNodes(t *testing.T) *nodeprograms.Programs {
	t.Helper()
	cmd := exec.Command("go", "run", "./test/sandbox/build", "-real-nodes", "-path")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Skipf("%s", exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	programs, err := nodeprograms.Read(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

func TestTheProgramsOfNodesStart(t *testing.T) {
	programs := realNodes(t)
	for name, want := range map[string]string{
		"containerd": programs.Versions["containerd"][1:], "containerd-shim-runc-v2": programs.Versions["containerd"][1:],
		"ctr": programs.Versions["containerd"][1:], "kubelet": programs.Versions["kubernetes"], "kube-proxy": programs.Versions["kubernetes"],
		"cni/bridge": "CNI bridge plugin", "cni/host-local": "CNI host-local plugin",
		"cni/loopback": "CNI loopback plugin", "cni/portmap": "CNI portmap plugin",
	} {
		flag := "--version"
		if name == "containerd-shim-runc-v2" {
			flag = "-v"
		}
		out, err := exec.Command(filepath.Join(programs.Bin(), name), flag).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s %s: %v, want something with %q:\n%s", name, flag, err, want, out)
		}
	}
}

func TestArchivesAreCompleteAndShareLayers(t *testing.T) {
	programs := realNodes(t)
	seen := map[string]int{}
	for _, image := range programs.Images {
		content := load(t, image)
		if err := validate.Image(content); err != nil {
			t.Errorf("%s: %v", image.Name, err)
		}
		layers, err := content.Layers()
		if err != nil || len(layers) != len(image.Layers) {
			t.Fatalf("%s: %v, %d layers", image.Name, err, len(layers))
		}
		for i, layer := range layers {
			if diff, err := layer.DiffID(); err != nil || diff.String() != image.Layers[i] {
				t.Errorf("%s: layer %d is %s, but programs.json has %s", image.Name, i, diff, image.Layers[i])
			}
			seen[image.Layers[i]]++
		}
	}
	kubeProxy, _ := programs.Image(nodeprograms.KubeProxy)
	if seen[kubeProxy.Layers[0]] < 3 {
		t.Errorf("the lowest layer of kube-proxy's image is in %d images", seen[kubeProxy.Layers[0]])
	}
}

func TestTheProgramsOfImagesStart(t *testing.T) {
	programs := realNodes(t)
	for name, commands := range map[string][]struct{ line, want string }{
		nodeprograms.KubeProxy: {
			{"/usr/bin/kube-proxy --version", programs.Versions["kubernetes"]},
			{"conntrack --version", "conntrack v"},
			{"ipset version", "ipset v"},
			{"iptables --wait -A INPUT -p tcp -m comment --comment why -m multiport --dports 80,81 -j ACCEPT && iptables-save", "--dports 80,81"},
			{"ip6tables -A INPUT -p udp --dport 53 -j DROP && ip6tables-save", "--dport 53"},
			// kube-proxy finds its own elements by the protocol's name, which is in /etc/protocols.
			{"nft add table t && nft add map t m '{type inet_proto : verdict;}' && nft add element t m '{tcp : drop}' && nft -j list map t m", `"tcp"`},
		},
		nodeprograms.CoreDNS: {{"-version", "CoreDNS-" + programs.Versions["coredns"][1:]}},
		"trellis-probe":      {{"-help", "-kubelet-port"}},
		nodeprograms.Traffic: {
			{
				"ip link set lo up && traffic -listen :80 & until traffic get http://127.0.0.1/; do :; done; " +
					"traffic send -to 127.0.0.1:80 -for 200ms -timeout 100ms; kill $!", `"lost":0`,
			},
			{"ip link set lo up && ping -c 1 -W 1 127.0.0.1", "1 packets received"},
		},
		"cni-plugins": {
			{"cp -f /usr/src/cni/bin/bridge /usr/src/cni/bin/host-local /usr/src/cni/bin/loopback /usr/src/cni/bin/portmap / && /portmap --version", "CNI portmap plugin"},
		},
		"flannel-cni-plugin": {
			{`cp -f /flannel /copy && echo '{"cniVersion":"1.0.0"}' | CNI_COMMAND=VERSION /copy`, "supportedVersions"},
		},
		"gardenet": {{"-h", "NODE_NAME must be the name of the node"}},
		"flannel": {
			{"/opt/bin/flanneld -h", "kube-subnet-mgr"},
			{"iptables -A POSTROUTING -t nat ! -d 224.0.0.0/4 -j MASQUERADE --random-fully && iptables-save", "--random-fully"},
			{"nft add table ip6 t && nft list tables", "table ip6 t"},
			{"mkdir /run && touch /run/subnet.env && touch -c -d @0 /run/subnet.env && stat -c %Y /run/subnet.env", "0\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := programs.Image(name)
			if err != nil {
				t.Fatal(err)
			}
			root := unpack(t, load(t, image))
			for _, command := range commands {
				argv := []string{"/bin/sh", "-c", command.line}
				// Some images have no shell.
				if strings.HasPrefix(command.line, "-") {
					argv = append(entrypoint(t, image), command.line)
				}
				out, _ := inside(t, root, argv...).CombinedOutput()
				if !strings.Contains(string(out), command.want) {
					t.Errorf("%q printed %q, want something with %q", argv, out, command.want)
				}
			}
		})
	}
}

func TestThePauseContainerEndsWhenItIsTold(t *testing.T) {
	programs := realNodes(t)
	image, err := programs.Image(nodeprograms.Pause)
	if err != nil {
		t.Fatal(err)
	}
	root := unpack(t, load(t, image))
	// Until the program has set up how it handles signals, one ends it in another way. So each try
	// gives it more time before the signal.
	for patience := 10 * time.Millisecond; ; patience *= 3 {
		cmd := inside(t, root, entrypoint(t, image)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		case <-time.After(patience):
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		err := <-ended
		if err == nil {
			return
		}
		if patience > 5*time.Second {
			t.Fatal(err)
		}
	}
}

func load(t *testing.T, image nodeprograms.Image) v1.Image {
	t.Helper()
	content, err := tarball.ImageFromPath(image.Archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func entrypoint(t *testing.T, image nodeprograms.Image) []string {
	t.Helper()
	config, err := load(t, image).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return config.Config.Entrypoint
}

// unpack writes the image's files into a directory, and skips the test without root, which
// inside needs.
func unpack(t *testing.T, image v1.Image) (root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root directory of a process")
	}
	root = t.TempDir()
	// The shell reads it in place of the standard input of commands in the background.
	if err := os.Mkdir(filepath.Join(root, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(root, "dev", "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(image)
	defer content.Close()
	for files := tar.NewReader(content); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err == nil {
			err = unpackFile(filepath.Join(root, file.Name), file, files)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackFile(path string, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, header.FileInfo().Mode().Perm())
	case tar.TypeSymlink:
		return os.Symlink(header.Linkname, path)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		return err
	}
	return file.Close()
}

// inside is a command whose root is the directory, in a network namespace of its own. It ends
// after a while in any case.
func inside(t *testing.T, root string, argv ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	// A process that the command leaves behind keeps its output open.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	return cmd
}
