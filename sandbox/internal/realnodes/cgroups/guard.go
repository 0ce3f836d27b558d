// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
)

// watch is the script of a watcher. Its arguments are the directories of a cgroup in all hierarchies.
// It waits for a line, or for the end of its input. A line says that nothing is left to do. The input
// ends with the process that the watcher watches. Then the watcher removes the directories, as soon
// as the processes in them have ended too. It ends when none has been there for a second: a process
// that is about to end may make one again.
const watch = `
trap '' HUP INT TERM
if read -r line; then exit; fi
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	left=
	for tenth in 1 2 3 4 5 6 7 8 9 10; do
		find "$@" -depth -type d -delete
		sleep 0.1
		for each; do [ ! -d "$each" ] || left=$each; done
	done
	if [ -z "$left" ]; then exit; fi
done
`

// Guard removes the cgroup of a sandbox when this process ends, even by SIGKILL.
//
// The kernel does not remove cgroups, but can start a program that does, for a whole machine only
// (release_agent). So a guard is a process: a shell in a session of its own, which no signal reaches
// that is for a terminal, a group of processes, or all programs of this one's name. If both are
// killed, empty cgroups are left until the next Sweep.
type Guard struct {
	path    string
	watcher *exec.Cmd
	// lifeline is the input of the watcher. The kernel closes it with this process, and no other
	// process inherits it.
	lifeline io.Writer
	// ended is closed when the watcher has ended.
	ended chan struct{}
}

// NewGuard guards the cgroup at path, such as that of Name, which need not exist yet. It calls died
// if the watcher is killed: from then on nothing guards the cgroup.
func NewGuard(path string, died func(error)) (*Guard, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	args := []string{"-c", watch, "guard-of-cgroups"}
	for _, h := range all {
		args = append(args, filepath.Join(h.parent(), path))
	}
	g := &Guard{path: path, watcher: exec.Command("sh", args...), ended: make(chan struct{})}
	g.watcher.Dir = "/"
	g.watcher.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g.lifeline, err = g.watcher.StdinPipe(); err != nil {
		return nil, err
	}
	if err := g.watcher.Start(); err != nil {
		return nil, fmt.Errorf("guard the cgroups: %w", err)
	}
	go func() {
		err := g.watcher.Wait()
		close(g.ended)
		if err != nil {
			died(fmt.Errorf("the process that guards the cgroups has ended: %w", err))
		}
	}()
	return g, nil
}

// Release removes the cgroup like Remove, and ends the watcher.
func (g *Guard) Release() error {
	err := Remove(g.path)
	// This fails only if the watcher has ended.
	_, _ = io.WriteString(g.lifeline, "\n")
	<-g.ended
	return err
}
