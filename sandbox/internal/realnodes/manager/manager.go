// SPDX-License-Identifier: Apache-2.0

// Package manager runs the real nodes of a shoot, in a network namespace of its own. It has
// the bridges, starts the nodes, and connects them with the gateway.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/control"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/network"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/relay"
	"github.com/trellis-network/trellis/sandbox/internal/unixsocket"
)

// Node is the name of the component that is a node's first process.
const Node = "node"

// nodeNamespaces are the namespaces of a node's first process. It makes that of its cgroups
// itself, once it is in them.
const nodeNamespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// grace is the time that a node has to end. It does so at once.
const grace = time.Second

// NewCommand returns the program that runs the nodes of a plan until ctx ends. Its process
// must be in a network namespace of its own.
func NewCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:          "real-nodes PLAN",
		Args:         cobra.ExactArgs(1),
		SilenceUsage: true,
		RunE:         func(_ *cobra.Command, args []string) error { return run(ctx, args[0]) },
	}
}

func run(ctx context.Context, path string) error {
	p, err := plan.Read(path)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	m := &manager{path: path, plan: p, pids: make([]int, len(p.Nodes))}
	if m.network, err = network.New(p.Subnets, p.Nodes); err != nil {
		return err
	}
	if m.group, err = process.NewGroup(end); err != nil {
		return err
	}
	defer m.group.Stop(grace)
	if err := m.listen(end); err != nil {
		return err
	}
	if err := m.shareImages(); err != nil {
		return err
	}
	for i := range p.Nodes {
		if err := m.start(i); err != nil {
			return err
		}
	}
	<-ctx.Done()
	if death := new(process.Death); errors.As(context.Cause(ctx), &death) {
		return death
	}
	return nil
}

// manager implements control.Manager.
type manager struct {
	path  string
	plan  *plan.Plan
	group *process.Group

	// lifecycle is held while a node is killed or started.
	lifecycle sync.Mutex

	mu      sync.Mutex
	network *network.Network
	// pids are the first processes of the nodes, or 0.
	pids []int
}

// listen opens everything that others connect to, and calls end when one of it fails.
func (m *manager) listen(end context.CancelCauseFunc) error {
	router := m.plan.APIServer.Addr()
	gateway := relay.Through(m.plan.Gateway)
	for _, opening := range []struct {
		network, address string
		serve            func(net.Listener) error
	}{
		{"tcp", m.plan.APIServer.String(), func(l net.Listener) error { return relay.Forward(l, gateway, m.plan.APIServer.String()) }},
		{"tcp", netip.AddrPortFrom(router, m.plan.OutwardPort).String(), func(l net.Listener) error {
			return relay.ServeUser(l, plan.OutwardUser, m.plan.OutwardPassword, relay.Through(m.plan.Outward))
		}},
		{"unix", m.plan.Kubelets, func(l net.Listener) error { return relay.Serve(l, relay.Direct) }},
		{"unix", m.plan.Control, func(l net.Listener) error { return http.Serve(l, control.Handler(m)) }},
	} {
		listener, err := listen(opening.network, opening.address)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", opening.address, err)
		}
		go func() { end(opening.serve(listener)) }()
	}
	return nil
}

func listen(network, address string) (net.Listener, error) {
	if network == "unix" {
		return unixsocket.Listen(address)
	}
	return net.Listen(network, address)
}

// start starts a node that is down, and connects it.
func (m *manager) start(index int) error {
	node := m.plan.Nodes[index]
	pid, err := m.group.Launch(m.component(node))
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pids[index] = pid
	return m.network.Attach(index, pid)
}

// component describes the first process of a node.
func (m *manager) component(node plan.Node) process.Spec {
	return process.Spec{
		Component:  Node,
		Cluster:    m.plan.Shoot,
		Stage:      process.Client,
		Args:       []string{m.path, node.Name},
		Namespaces: nodeNamespaces,
		Dir:        "/",
		Log:        filepath.Join(m.plan.Logs, node.Name, "node.log"),
	}
}

// Nodes implements control.Manager.
func (m *manager) Nodes() control.Nodes {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := control.Nodes{Router: os.Getpid(), Kubeconfig: m.plan.Kubeconfig, Nodes: []control.Node{}}
	for i, node := range m.plan.Nodes {
		state := control.Node{Name: node.Name, Subnet: m.plan.Subnets[node.Subnet].Name, PID: m.pids[i], Faults: m.network.Faults(node.Name)}
		for _, address := range node.Addresses {
			state.Addresses = append(state.Addresses, address.Addr())
		}
		all.Nodes = append(all.Nodes, state)
	}
	return all
}

// SetFaults implements control.Manager.
func (m *manager) SetFaults(node string, faults network.Faults) error {
	if _, _, err := m.find(node); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.network.SetFaults(node, faults)
}

// Kill implements control.Manager.
func (m *manager) Kill(node string) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	index, pid, err := m.find(node)
	if err != nil {
		return err
	}
	if pid == 0 {
		return options.Invalidf("%s is down already", node)
	}
	m.group.Kill(pid)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pids[index] = 0
	// The node's processes end with its first one, but not in the same moment.
	return errors.Join(m.network.Detach(node), cgroups.Remove(filepath.Join(m.plan.Cgroup, node)))
}

// Start implements control.Manager.
func (m *manager) Start(node string) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	index, pid, err := m.find(node)
	if err != nil {
		return err
	}
	if pid != 0 {
		return options.Invalidf("%s runs already", node)
	}
	return m.start(index)
}

func (m *manager) find(node string) (index, pid int, err error) {
	index, err = m.plan.Node(node)
	if err != nil {
		return 0, 0, options.Invalidf("%v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return index, m.pids[index], nil
}
