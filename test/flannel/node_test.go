// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/test/built"
)

// patience is how long the tests wait for what takes a few seconds on an idle machine.
const patience = time.Minute

// root makes a node's root: the machine's programs, folders of its own for what is written, the
// files of the three images, and flannel's own CNI plugin.
const root = `
R=$1; P=%s
mount -t tmpfs tmpfs "$R"
cd "$R"
mkdir -p usr/src/cni/bin etc run tmp var/lib opt/bin opt/cni/bin proc sys dev
for folder in /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/share /etc/alternatives; do
	if [ -d "$folder" ]; then mkdir -p ".$folder"; mount --bind "$folder" ".$folder"; fi
done
for folder in bin sbin lib lib64; do [ ! -L "/$folder" ] || ln -s "usr/$folder" "$folder"; done
for file in ld.so.cache protocols; do [ ! -e "/etc/$file" ] || cp "/etc/$file" etc/; done
ln -s /run var/run
cp "$P/bridge" "$P/host-local" "$P/loopback" "$P/portmap" usr/src/cni/bin/
cp "$P/flannel-cni" flannel
cp "$P/upstream/flannel" upstream-flannel
touch opt/bin/flanneld run/xtables.lock
mount --bind "$P/flanneld" opt/bin/flanneld
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
ip link set lo up
`

// node is a machine of the cluster.
type node struct {
	*namespaces
	name string
	// pod is the name of the DaemonSet's pod.
	pod    string
	daemon *daemon
}

func newNode(t *testing.T, name string) *node {
	t.Helper()
	n := &node{namespaces: newNamespaces(t, fmt.Sprintf(root, programs.need(t))), name: name, pod: "kube-flannel-ds-" + name}
	n.run("mkdir", "-p", "/run/flannel", "/etc/cni/net.d", "/etc/kube-flannel", tokenPath)
	t.Cleanup(func() {
		if t.Failed() && n.daemon != nil {
			t.Logf("flannel's daemon on %s wrote\n%s", name, n.daemon.log())
		}
	})
	return n
}

// write writes a file of the node.
func (n *node) write(path, content string) {
	n.t.Helper()
	if err := os.WriteFile(n.file(path), []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// configure writes the ConfigMap as kubelet mounts it.
func (n *node) configure(settings *corev1.ConfigMap) {
	n.t.Helper()
	for name, content := range settings.Data {
		n.write(filepath.Join("/etc/kube-flannel", name), content)
	}
}

// install runs the DaemonSet's init containers.
func (n *node) install(daemonSet *appsv1.DaemonSet) {
	n.t.Helper()
	for _, container := range daemonSet.Spec.Template.Spec.InitContainers {
		n.run(append(container.Command, container.Args...)...)
	}
}

// daemon is a running container of flannel's daemon.
type daemon struct {
	command *exec.Cmd
	ended   chan struct{}
	err     error // valid when ended is closed

	mu     sync.Mutex
	output bytes.Buffer
}

// Write implements io.Writer.
func (d *daemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.Write(p)
}

func (d *daemon) log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.String()
}

const pidFile = "/run/flanneld.pid"

// start runs the DaemonSet's container, with more arguments.
func (n *node) start(daemonSet *appsv1.DaemonSet, args ...string) {
	n.t.Helper()
	container := built.Container(n.t, daemonSet.Spec.Template.Spec, "kube-flannel")
	d := &daemon{ended: make(chan struct{})}
	arguments := []string{"sh", "-c", `echo $$ >` + pidFile + `; exec "$@"`, "sh"}
	for _, list := range [][]string{container.Command, container.Args, args} {
		arguments = append(arguments, list...)
	}
	d.command = n.command(arguments...)
	d.command.Stdout, d.command.Stderr = d, d
	d.command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, variable := range container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			value = map[string]string{"metadata.name": n.pod, "metadata.namespace": daemonSet.Namespace}[from.FieldRef.FieldPath]
		}
		d.command.Env = append(d.command.Env, variable.Name+"="+value)
	}
	if err := d.command.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		d.err = d.command.Wait()
		close(d.ended)
	}()
	n.daemon = d
}

// awaitReady waits until the container's readiness probe succeeds. As on a real node, the probe is
// first called when the container has been running for a while: its shell has marked the file of an
// earlier daemon by then, with which the probe would succeed.
func (n *node) awaitReady(daemonSet *appsv1.DaemonSet) {
	n.t.Helper()
	container := built.Container(n.t, daemonSet.Spec.Template.Spec, "kube-flannel")
	NewWithT(n.t).Eventually(func() error {
		select {
		case <-n.daemon.ended:
			return StopTrying(fmt.Sprintf("flannel's daemon on %s ended: %v", n.name, n.daemon.err))
		default:
		}
		if runs := n.runs(); runs != "flanneld" {
			return fmt.Errorf("the container on %s runs %q", n.name, runs)
		}
		_, err := n.try(container.ReadinessProbe.Exec.Command...)
		return err
	}, patience).Should(Succeed())
}

// runs returns the name of the program that the container runs: the shell of its command, or the
// daemon that follows, or "" before and after them.
func (n *node) runs() string {
	pid, err := os.ReadFile(n.file(pidFile))
	if err != nil {
		return ""
	}
	name, _ := os.ReadFile(n.file(filepath.Join("/proc", strings.TrimSpace(string(pid)), "comm")))
	return strings.TrimSpace(string(name))
}

// signal sends a signal to the daemon, and returns its exit status, or -1 if a signal ended it.
func (n *node) signal(name string) int {
	n.t.Helper()
	n.run("sh", "-c", "kill -"+name+" $(cat "+pidFile+")")
	return n.exitStatus()
}

// exitStatus waits for the daemon's end, and returns -1 if a signal ended it.
func (n *node) exitStatus() int {
	n.t.Helper()
	select {
	case <-n.daemon.ended:
	case <-time.After(patience):
		n.t.Fatalf("flannel's daemon on %s does not end", n.name)
	}
	if exit := (&exec.ExitError{}); errors.As(n.daemon.err, &exit) {
		return exit.ExitCode()
	} else if n.daemon.err != nil {
		n.t.Fatal(n.daemon.err)
	}
	return 0
}

// routes returns the node's routes into a range.
func (n *node) routes(to string) string {
	family := "-4"
	if strings.Contains(to, ":") {
		family = "-6"
	}
	n.t.Helper()
	return strings.TrimSpace(n.run("ip", family, "route", "show", "root", to))
}
