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

// parentInterval is how often is looked whether the parent still lives.
const parentInterval = 300 * time.Millisecond

func newUp() *cobra.Command {
	var flags options.Flags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a garden and seed and shoot clusters, and keep them until interrupted",
		Long: `Starts one cluster that is garden and seed together, and a cluster for each
shoot. When all of them are ready, exactly one line of JSON is printed: where
they are and where the kubeconfigs lie. Everything ends on SIGINT or SIGTERM,
when a component dies, and when the process that called this one is gone.

For each shoot, the seed has the namespace and in it the Secret NAME.kubeconfig
with an admin kubeconfig under the key kubeconfig.

Exit status: 0 when it was stopped, 1 when it could not start or a component
died, 2 when something was asked for that cannot be had.`,
		Example: `  trellis-sandbox up --shoot garden-dev/johndoe-azure --nodes 3
  trellis-sandbox up --shoots 2 --user alice=developers,testers
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
	orphaned := func() { end(fmt.Errorf("%w: the parent process is gone", sandbox.ErrStopped)) }
	stopWatching := watchParent(orphaned)
	defer stopWatching()

	// Whatever any component writes is for this user alone.
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

// endOnSignal ends the sandbox in order at the first signal. At a second one
// the process dies at once, and its components with it.
func endOnSignal(end context.CancelCauseFunc) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	received := <-signals
	signal.Stop(signals)
	end(fmt.Errorf("%w: received %s", sandbox.ErrStopped, received))
}

// surviveBrokenPipes makes writing to a parent that is gone an error like any
// other. Otherwise the next line of progress would end the process before it has
// cleaned up. Components do not inherit it.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// watchParent calls orphaned when the process that started this one is gone.
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

// detach leaves the work to a process in the background.
func detach() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status, err := background.Detach(ctx, os.Stdout)
	if err == nil && status != 0 {
		return exitStatus(status)
	}
	return err
}
