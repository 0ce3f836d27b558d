// SPDX-License-Identifier: Apache-2.0

// Package node is the first process of a real node. It makes the node's root file system,
// and runs containerd and the kubelet there. When it ends, the kernel ends all that runs on
// the node.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/network"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// Init is the name of the component into which a node's first process turns, once it is in
// the node's cgroups, and TrialInit that of a trial.
const (
	Init      = "node-init"
	TrialInit = "trial-node-init"
)

// wiring is how long the manager may take to connect the node.
const wiring = 10 * time.Second

// EnterCgroups is the first program of a node's first process. It moves the process into the
// node's cgroups, makes a namespace of them, and continues as the component next: a cgroup
// namespace is that of one thread, and the others of the process would stay outside. It returns
// only with an error. Args are the file of a plan, and the name of the node.
func EnterCgroups(next string, args []string) error {
	p, node, err := read(args)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := cgroups.Enter(filepath.Join(p.Cgroup, node.Name)); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("make a namespace for the cgroups: %w", err)
	}
	return process.Become(next, args)
}

// Run is the node, until ctx ends or one of its programs does. The importer ends once it has
// imported the images. Args are those of EnterCgroups.
func Run(ctx context.Context, args []string) error {
	p, node, err := read(args)
	if err != nil {
		return err
	}
	unix.Umask(0o022)
	logs, err := openLogs(p, node, containerd, kubelet)
	if err != nil {
		return err
	}
	imports := node.Name == p.Importer.Name
	archives, err := openArchives(p, imports)
	if err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(node.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := writeFiles(p, node); err != nil {
		return err
	}
	if err := enterRoot(p, node); err != nil {
		return fmt.Errorf("make the root file system: %w", err)
	}
	if err := network.NodeSysctls(); err != nil {
		return err
	}
	all := newChildren()
	if imports {
		return importImages(ctx, all, logs[containerd], archives)
	}
	if err := awaitAddresses(ctx, node); err != nil {
		return err
	}
	return runPrograms(ctx, all, p, node, logs)
}

// Try is Run without programs: it returns nil once the node has its root file system and its
// addresses.
func Try(ctx context.Context, args []string) error {
	p, node, err := read(args)
	if err != nil {
		return err
	}
	if err := enterRoot(p, node); err != nil {
		return fmt.Errorf("make the root file system: %w", err)
	}
	if err := network.NodeSysctls(); err != nil {
		return err
	}
	return awaitAddresses(ctx, node)
}

func read(args []string) (*plan.Plan, plan.Node, error) {
	if len(args) != 2 {
		return nil, plan.Node{}, errors.New("usage: node PLAN NAME")
	}
	p, err := plan.Read(args[0])
	if err != nil {
		return nil, plan.Node{}, err
	}
	if args[1] == p.Importer.Name {
		return p, p.Importer, nil
	}
	index, err := p.Node(args[1])
	if err != nil {
		return nil, plan.Node{}, err
	}
	return p, p.Nodes[index], nil
}

// openLogs opens a log for each program, before the node leaves the machine's files.
func openLogs(p *plan.Plan, node plan.Node, programs ...string) (map[string]io.Writer, error) {
	logs := map[string]io.Writer{}
	for _, program := range programs {
		file, err := os.OpenFile(logOf(p, node, program), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		logs[program] = file
	}
	return logs, nil
}

// awaitAddresses waits until the manager has given the node all its addresses.
func awaitAddresses(ctx context.Context, node plan.Node) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wiring, fmt.Errorf("the node got no addresses within %s", wiring))
	defer cancel()
	return poll(ctx, func() bool {
		has, err := net.InterfaceAddrs()
		if err != nil {
			return false
		}
		present := map[netip.Addr]bool{}
		for _, address := range has {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil {
				present[prefix.Addr()] = true
			}
		}
		for _, address := range node.Addresses {
			if !present[address.Addr()] {
				return false
			}
		}
		return true
	})
}

// interval is the time between two checks.
const interval = 20 * time.Millisecond

// poll calls done until it returns true, or ctx ends.
func poll(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}
