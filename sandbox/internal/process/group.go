// SPDX-License-Identifier: Apache-2.0

// Package process starts the component processes of a sandbox, reports when one
// of them dies, and ends all of them with the sandbox.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Stage orders the end of components: Stop ends those of a higher stage first.
type Stage int

// The stages. Each needs the stages before it.
const (
	Storage Stage = iota
	Server
	Client
	stages
)

// Spec describes a component process.
type Spec struct {
	// Component is the name by which the program is called. It selects what the
	// program runs.
	Component string
	// Cluster is the cluster of the component, for messages. It is empty if the
	// component serves all clusters.
	Cluster string
	Stage   Stage
	Args    []string
	// Env is added to the environment of the supervisor.
	Env []string
	// Namespaces are the kinds of namespaces that the process gets of its own, as flags of
	// clone(2). They need root.
	Namespaces uintptr
	// Dir is the working directory.
	Dir string
	// Log is the file for standard output and standard error.
	Log string
}

// String returns the component's name and cluster for messages.
func (s Spec) String() string {
	if s.Cluster == "" {
		return s.Component
	}
	return s.Component + " of " + s.Cluster
}

// Group starts components and stops them all. Its methods are safe for
// concurrent use.
type Group struct {
	executable string
	onDeath    func(error)

	// lifeline is the writing end of the pipe, which only this process holds.
	lifeline      *os.File
	componentsEnd *os.File

	mu       sync.Mutex
	stopping bool
	running  []*component
}

// NewGroup makes a group whose components are processes of this same program. It
// calls onDeath with a *Death when a component ends before Stop and Kill.
func NewGroup(onDeath func(error)) (*Group, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	componentsEnd, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the lifeline: %w", err)
	}
	return &Group{executable: executable, onDeath: onDeath, lifeline: lifeline, componentsEnd: componentsEnd}, nil
}

// Start starts a component and returns without waiting for it to be ready.
func (g *Group) Start(spec Spec) error {
	_, err := g.Launch(spec)
	return err
}

// Launch is Start for those who need the component's process id.
func (g *Group) Launch(spec Spec) (pid int, err error) {
	started, err := g.launch(spec, false)
	if err != nil {
		return 0, err
	}
	return started.pid(), nil
}

// RunToEnd starts a component and returns when it has ended: with a *Death, unless its exit
// status is 0.
func (g *Group) RunToEnd(spec Spec) error {
	_, wait, err := g.LaunchToEnd(spec)
	if err != nil {
		return err
	}
	return wait()
}

// LaunchToEnd is RunToEnd for those who need the component's process id: wait does what RunToEnd
// does once the component is started.
func (g *Group) LaunchToEnd(spec Spec) (pid int, wait func() error, err error) {
	started, err := g.launch(spec, true)
	if err != nil {
		return 0, nil, err
	}
	return started.pid(), func() error {
		<-started.done
		if !started.cmd.ProcessState.Success() {
			return started.death()
		}
		return nil
	}, nil
}

func (g *Group) launch(spec Spec, mayEnd bool) (*component, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return nil, fmt.Errorf("start %s: the sandbox is being stopped", spec)
	}
	started, err := start(g.executable, spec, g.componentsEnd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec, err)
	}
	started.mayEnd = mayEnd
	g.running = append(g.running, started)
	go g.watch(started)
	return started, nil
}

// watch calls onDeath when the component ends and may not.
func (g *Group) watch(c *component) {
	<-c.done
	g.mu.Lock()
	expected := g.stopping || c.mayEnd
	g.running = slices.DeleteFunc(g.running, func(other *component) bool { return c.mayEnd && other == c })
	g.mu.Unlock()
	if !expected {
		g.onDeath(c.death())
	}
}

// Kill ends the component with this process id by SIGKILL, and returns when it has ended.
// Its end is no death. It is no error if the component is not there any more.
func (g *Group) Kill(pid int) {
	g.mu.Lock()
	index := slices.IndexFunc(g.running, func(c *component) bool { return c.pid() == pid })
	if index < 0 {
		g.mu.Unlock()
		return
	}
	c := g.running[index]
	c.mayEnd = true
	g.mu.Unlock()
	_ = c.cmd.Process.Kill()
	<-c.done
}

// PIDs returns the process ids of all components that Start has started.
func (g *Group) PIDs() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	pids := make([]int, 0, len(g.running))
	for _, c := range g.running {
		pids = append(pids, c.pid())
	}
	return pids
}

// Stop ends all components, stage by stage, and those of one stage at once. It
// sends SIGTERM to each, and kills those that still run after grace. It returns
// when all have ended.
func (g *Group) Stop(grace time.Duration) {
	g.mu.Lock()
	g.stopping = true
	running := slices.Clone(g.running) // watch removes some from the original
	g.mu.Unlock()

	for stage := stages - 1; stage >= Storage; stage-- {
		var wait sync.WaitGroup
		for _, c := range running {
			if c.spec.Stage == stage {
				wait.Go(func() { c.stop(grace) })
			}
		}
		wait.Wait()
	}
	_ = g.lifeline.Close()
	_ = g.componentsEnd.Close()
}
