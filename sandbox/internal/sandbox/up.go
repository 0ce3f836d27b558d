// SPDX-License-Identifier: Apache-2.0

// Package sandbox starts all clusters of a sandbox, watches them, and stops them.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/memory"
	"github.com/trellis-network/trellis/sandbox/internal/needs"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/process"
	"github.com/trellis-network/trellis/sandbox/internal/progress"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/cgroups"
	"github.com/trellis-network/trellis/sandbox/internal/workdir"
)

// grace is the time that the components of one stage have to stop after SIGTERM.
const grace = 3 * time.Second

// IO is where a sandbox writes to.
type IO struct {
	// Out takes the one line of JSON.
	Out io.Writer
	// Progress takes the lines that report progress to the user.
	Progress io.Writer
	// Ready is called, unless it is nil, when all clusters are ready, right before
	// the line of JSON is written.
	Ready func(dir string) error
}

// Up runs a sandbox until ctx ends. It returns nil if the cause of that end is
// ErrStopped. Otherwise it returns an error: an options.Invalid if what the user
// asked for is invalid or more than the machine has, a *process.Death if a component died, or the reason why the
// sandbox could not start. Before Up returns, all processes have ended, and a
// temporary directory is removed.
func Up(ctx context.Context, wanted options.Up, io IO) (err error) {
	log := progress.NewLog(io.Progress)
	defer log.Close()
	images, err := archivesMiB(wanted)
	if err != nil {
		return err
	}
	planned := needs.Of(wanted, images)
	nodes, realNodes := wanted.NodeCounts()
	log.Printf("one seed, shoots: %d, nodes: %d, of which %d are real; this takes about %d MiB of memory", planned.Shoots, nodes, realNodes, planned.Amount().MemoryMiB)
	err = checkRealNodes(wanted, planned)
	if !wanted.IgnoreMemory {
		err = errors.Join(err, checkMemory(planned, "start fewer shoots, stop other programs, or skip this check with --ignore-memory"))
	}
	if err != nil {
		return err
	}
	dir, err := workdir.Claim(wanted.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Release()) }()
	if err := checkDisk(planned, dir.Path()); err != nil {
		return err
	}

	err = run(ctx, wanted, dir, io, log)
	if errors.As(err, new(*process.Death)) && dir.Temporary() {
		err = fmt.Errorf("%w\nall logs are removed with the temporary directory; --dir keeps them", err)
	}
	return err
}

// run is Up once the directory is claimed.
func run(ctx context.Context, wanted options.Up, dir *workdir.Dir, io IO, log *progress.Log) (err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	group, err := process.NewGroup(end)
	if err != nil {
		return err
	}
	removeCgroups, err := guardCgroups(wanted, end)
	if err != nil {
		return err
	}
	defer func() {
		stopping := time.Now()
		group.Stop(grace)
		err = errors.Join(err, removeCgroups())
		log.Printf("all processes have ended after %.1f s", time.Since(stopping).Seconds())
	}()

	s := &starter{wanted: wanted, dir: dir, group: group, log: log}
	defer s.close()
	report, err := s.start(ctx)
	if err != nil {
		return whyNotReady(ctx, err)
	}
	if err := announce(report, io); err != nil {
		return err
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, ErrStopped) {
		return cause
	}
	return nil
}

// whyNotReady returns the cause of the context's end, if there is one, rather than
// the errors that follow from that end.
func whyNotReady(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrStopped) {
		return fmt.Errorf("%w before everything was ready", cause)
	}
	if cause != nil {
		return cause
	}
	return err
}

// ErrStopped is the cause of the context's end when the user, a signal or the end
// of the parent process stops the sandbox. The cause wraps it.
var ErrStopped = errors.New("stopped")

func announce(report *Report, io IO) error {
	line, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if io.Ready != nil {
		if err := io.Ready(report.Dir); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(io.Out, "%s\n", line); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// used is the memory of this process, its components, and what runs on real nodes.
func used(group *process.Group, wanted options.Up) (int, error) {
	pids := append(group.PIDs(), os.Getpid())
	if wanted.Real != nil {
		own, err := cgroups.Name()
		if err != nil {
			return 0, err
		}
		onNodes, err := cgroups.Processes(own)
		if err != nil {
			return 0, err
		}
		pids = append(pids, onNodes...)
	}
	return memory.UsedMiB(pids), nil
}
