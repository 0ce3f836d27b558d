// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-network/trellis/sandbox/internal/background"
	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/sandbox"
)

// parentInterval is how often up checks that its parent process still runs.
const parentInterval = 300 * time.Millisecond

func newUp() *cobra.Command {
	var flags options.Flags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a garden and seed and shoot clusters, and keep them until interrupted",
		Long: `Starts one cluster that is garden and seed together, and a cluster for each
shoot. When all of them are ready, up prints exactly one line of JSON with the
addresses of the clusters and the paths of the kubeconfigs. All clusters stop on
SIGINT or SIGTERM, when a component dies, and when the parent process has ended.

For each shoot, the seed has the namespace and in it the Secret NAME.kubeconfig
with an admin kubeconfig under the key kubeconfig.

Exit status: 0 when it was stopped, 1 when it could not start or a component
died, 2 when a flag or argument is invalid, or the machine lacks memory, disk
space or what real nodes need.`,
		Example: `  trellis-sandbox up --shoot garden-dev/johndoe-azure --nodes 3
  trellis-sandbox up --shoots 2 --user alice=developers,testers
  trellis-sandbox up --nodes real:2
  trellis-sandbox up --detach --dir /tmp/landscape`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			wanted, err := flags.Up()
			if err != nil {
				return err
			}
			if wanted.Detach && !background.IsBackground() {
				return detach()
			}
			return up(wanted)
		},
	}
	flags.AddTo(cmd.Flags())
	return cmd
}

func up(wanted options.Up) error {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	go endOnSignal(end)
	surviveBrokenPipes()
	orphaned := func() { end(fmt.Errorf("%w: the parent process has ended", sandbox.ErrStopped)) }
	stopWatching := watchParent(orphaned)
	defer stopWatching()

	// Only this user may read the files that components write.
	syscall.Umask(0o077)
	io := sandbox.IO{Out: os.Stdout, Progress: os.Stderr}
	if wanted.Detach {
		io.Ready = func(dir string) error {
			stopWatching()
			return background.CloseTerminal(dir)
		}
	}
	return sandbox.Up(ctx, wanted, io)
}

// endOnSignal stops the sandbox in order on the first signal. A second signal
// ends the process at once, and its components with it.
func endOnSignal(end context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	received := <-signals
	signal.Stop(signals)
	end(fmt.Errorf("%w: received %s", sandbox.ErrStopped, received))
}

// surviveBrokenPipes makes a write to a pipe without a reader return an error.
// By default the next line of progress after the parent's end would kill the
// process before it has cleaned up. Components do not inherit this.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// watchParent calls orphaned when the parent process has ended.
func watchParent(orphaned func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(parentInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					orphaned()
					return
				}
			}
		}
	}()
	return cancel
}

// detach runs the sandbox in a background process.
func detach() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status, err := background.Detach(ctx, os.Stdout)
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}
