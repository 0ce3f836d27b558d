// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// The programs of a node, which are also the names of their logs.
const (
	containerd = "containerd"
	kubelet    = "kubelet"
)

// readiness is how long containerd may take to listen.
const readiness = 30 * time.Second

// startContainerd starts containerd, and returns once it listens.
func startContainerd(ctx context.Context, all *children, log io.Writer, env []string) (*exec.Cmd, <-chan error, error) {
	cmd := program(log, env, containerd, "--config", containerdConfig)
	ended, err := all.start(cmd)
	if err != nil {
		return nil, nil, err
	}
	return cmd, ended, awaitSocket(ctx)
}

// runPrograms runs containerd and the kubelet. It returns when ctx ends or one of the
// programs does.
func runPrograms(ctx context.Context, all *children, p *plan.Plan, node plan.Node, logs map[string]io.Writer) error {
	_, containerdEnded, err := startContainerd(ctx, all, logs[containerd], outwardProxy(p))
	if err != nil {
		return err
	}
	kubeletEnded, err := all.start(program(logs[kubelet], nil, kubelet,
		"--config="+kubeletConfig, "--kubeconfig="+kubeconfig, "--hostname-override="+node.Name, "--node-ip="+addresses(node), "--v=2"))
	if err != nil {
		return err
	}
	select {
	case err := <-containerdEnded:
		return fmt.Errorf("containerd has ended, see %s: %w", logOf(p, node, containerd), orStatus0(err))
	case err := <-kubeletEnded:
		return fmt.Errorf("the kubelet has ended, see %s: %w", logOf(p, node, kubelet), orStatus0(err))
	case <-ctx.Done():
		return nil
	}
}

// logOf is the log of a program of a node, as the machine has it.
func logOf(p *plan.Plan, node plan.Node, program string) string {
	return filepath.Join(p.Logs, node.Name, program+".log")
}

func orStatus0(err error) error {
	if err == nil {
		return fmt.Errorf("exit status 0")
	}
	return err
}

// program describes a program of the sandbox on the node.
func program(log io.Writer, env []string, name string, args ...string) *exec.Cmd {
	path := filepath.Join(programs, name)
	return &exec.Cmd{
		Path:   path,
		Args:   append([]string{name}, args...),
		Dir:    "/",
		Stdout: log,
		Stderr: log,
		Env:    append([]string{"PATH=" + programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, env...),
	}
}

// outwardProxy is the environment by which containerd reaches registries. Containers do not
// get it.
func outwardProxy(p *plan.Plan) []string {
	proxy := url.URL{
		Scheme: "http",
		User:   url.UserPassword(plan.OutwardUser, p.OutwardPassword),
		Host:   netip.AddrPortFrom(p.APIServer.Addr(), p.OutwardPort).String(),
	}
	return []string{"HTTPS_PROXY=" + proxy.String(), "NO_PROXY=" + strings.Join([]string{"localhost", plan.IPv4Nodes, plan.IPv6Nodes}, ",")}
}

// awaitSocket waits until containerd listens.
func awaitSocket(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readiness, fmt.Errorf("containerd does not listen after %s, see its log", readiness))
	defer cancel()
	return poll(ctx, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// importImages imports archives of images, with a containerd that ends in order.
func importImages(ctx context.Context, all *children, log io.Writer, archives []*os.File) error {
	daemon, daemonEnded, err := startContainerd(ctx, all, log, nil)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		cmd := program(log, nil, "ctr", "--address", socket, "--namespace", "k8s.io", "images", "import", "-")
		cmd.Stdin = archive
		// This goes to this process's own log, the end of which is part of its error.
		cmd.Stderr = os.Stderr
		ended, err := all.start(cmd)
		if err != nil {
			return err
		}
		if err := <-ended; err != nil {
			return fmt.Errorf("import the images of %s: ctr: %w", archive.Name(), err)
		}
	}
	if err := daemon.Process.Signal(unix.SIGTERM); err != nil {
		return fmt.Errorf("stop containerd: %w", err)
	}
	return <-daemonEnded
}

// openArchives opens the archives for a node that imports them, before it leaves the machine's
// files.
func openArchives(p *plan.Plan, imports bool) ([]*os.File, error) {
	if !imports {
		return nil, nil
	}
	var files []*os.File
	for _, path := range p.Images {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func addresses(node plan.Node) string {
	var all []string
	for _, address := range node.Addresses {
		all = append(all, address.Addr().String())
	}
	return strings.Join(all, ",")
}
