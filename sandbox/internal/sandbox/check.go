// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/manager"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// CheckRealNodes finds out whether this machine can run these sandboxes with real nodes at the same
// time. It asks for programs, cgroups, memory, instances of inotify and space for temporary files.
// Then it makes a node without programs, and removes all of it. It returns an options.Invalid, one
// line that names what is missing or what the machine does not allow.
func CheckRealNodes(planned needs.Counts) error {
	if os.Geteuid() != 0 {
		return options.Invalidf("%s; run this as root", options.NeedRoot)
	}
	if missing := missingPrograms(); len(missing) > 0 {
		return options.Invalidf("real nodes need programs that are missing: %s; install them", strings.Join(missing, ", "))
	}
	if err := cgroups.Check(); err != nil {
		return options.Invalidf("%v", err)
	}
	if err := checkMemory(planned, "stop other programs"); err != nil {
		return err
	}
	if err := checkInotify(planned); err != nil {
		return err
	}
	if err := checkDisk(planned, os.TempDir()); err != nil {
		return err
	}
	if err := tryRealNode(); err != nil {
		return options.Invalidf("this machine does not allow root to make real nodes, as in a container without privileges: %s",
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

func tryRealNode() (err error) {
	own, err := cgroups.Name()
	if err != nil {
		return err
	}
	dir, err := workdir.Claim("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Release()) }()
	guard, err := cgroups.NewGuard(own, func(error) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Release()) }()

	p := &plan.Plan{Cgroup: own, Logs: dir.Path(), Programs: dir.Path()}
	p.Subnets, p.Nodes = plan.Layout{Nodes: 1, Subnets: 1, IPv4: true}.Lay()
	p.Nodes[0].Root = filepath.Join(dir.Path(), "root")
	file := filepath.Join(dir.Path(), "plan.json")
	if err := p.Write(file); err != nil {
		return err
	}
	group, err := process.NewGroup(func(error) {})
	if err != nil {
		return err
	}
	defer group.Stop(grace)
	return process.Reason(group.RunToEnd(process.Spec{
		Component:  manager.Trial,
		Stage:      process.Client,
		Args:       []string{file},
		Namespaces: unix.CLONE_NEWNET,
		Dir:        "/",
		Log:        filepath.Join(dir.Path(), manager.Trial+".log"),
	}))
}
