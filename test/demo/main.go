// SPDX-License-Identifier: Apache-2.0

// Command demo shows how Trellis works: it starts an embedded Kubernetes and the
// operator, applies a Shoot as a user would, and prints each step until the Shoot's
// network is healthy. Where real nodes can run, it applies a second Shoot, whose pods
// send packets, cuts the link of a node, and prints when the status noticed. `make demo`
// runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// patience is the time that all steps of a Shoot together may take once the clusters are ready.
const patience = 3 * time.Minute

// The Shoots that the demo applies unless the user names another one. Only the second one has
// real nodes.
const (
	simulatedShoot = "examples/shoot-johndoe-azure.yaml"
	realShoot      = "examples/shoot-flannel.yaml"
)

// The kernel ends the operator when the thread that started it ends. The main thread lives
// as long as the process, so the operator ends with the demo, even if that is killed.
func init() { runtime.LockOSThread() }

func main() {
	// Libraries add flags of their own to flag.CommandLine.
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	shootFile := flags.String("shoot", "", "file with the only Shoot to apply, on simulated nodes")
	operator := flags.String("operator", "bin/trellis-operator", "the operator's program")
	trellis := flags.String("trellis", "bin/trellis", "the command line's program")
	exit := flags.Bool("exit", false, "exit when all steps are done, or one has failed")
	_ = flags.Parse(os.Args[1:])
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo takes no arguments, only flags; got %q\n", flags.Args())
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go sandbox.EndWithParent()
	err := run(ctx, *shootFile, programs{*operator, *trellis}, *exit)
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is the usual end
		if *exit {
			err = errors.New("interrupted before all steps were done")
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// programs are paths of Trellis' programs.
type programs struct{ operator, trellis string }

func run(ctx context.Context, shootFile string, use programs, exit bool) error {
	wanted, err := choose(ctx, shootFile)
	if err != nil {
		return err
	}
	l := &landscape{started: time.Now(), trellis: use.trellis} // the sandbox prints the same times
	box, err := sandbox.Start(ctx, wanted.options())
	if err != nil {
		return err
	}
	defer func() { _ = box.Stop() }()
	l.say("installing CRDs and the operator's rights in the seed")
	if l.Landscape, err = standalone.Install(ctx, box); err != nil {
		return err
	}
	if err := l.startOperator(use.operator); err != nil {
		return err
	}
	defer l.stopOperator()
	outcome := l.showAll(ctx, wanted)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit {
		return outcome
	}
	l.showAccess()
	if outcome != nil {
		fmt.Printf("\n%v\n", outcome)
	}
	fmt.Println("\nThe clusters and the operator run until Ctrl-C.")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-l.operator.ended:
		return l.operatorEnded(err)
	case <-l.Done():
		return l.Stop() // it says why the sandbox has ended
	}
}

// landscape is one run of the demo.
type landscape struct {
	*standalone.Landscape
	started  time.Time
	operator *process
	// trellis is the path of the command line's program.
	trellis string
}

// showAll applies the Shoots one after the other and shows what becomes of them. It returns an
// error unless all came true.
func (l *landscape) showAll(ctx context.Context, wanted *wanted) error {
	first, err := l.newDemo(0)
	if err != nil {
		return err
	}
	if err := first.apply(ctx, wanted.shoots[0]); err != nil {
		return err
	}
	outcome := first.follow(ctx, first.steps())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	first.show(ctx)
	if outcome != nil {
		return outcome
	}
	if wanted.leftOut != "" {
		fmt.Printf("\nA second shoot, with real nodes whose pods send packets, is left out: %s\n", wanted.leftOut)
	}
	if wanted.programs == "" {
		return nil
	}
	second, err := l.newDemo(1)
	if err != nil {
		return err
	}
	return second.showPackets(ctx, wanted.shoots[1])
}

// demo follows one Shoot.
type demo struct {
	*landscape
	shoot *standalone.Shoot
}

func (l *landscape) newDemo(index int) (*demo, error) {
	shoot, err := l.Shoot(index)
	return &demo{landscape: l, shoot: shoot}, err
}

// say prints a progress line.
func (l *landscape) say(format string, args ...any) {
	fmt.Printf("[%5.1fs] %s\n", time.Since(l.started).Seconds(), fmt.Sprintf(format, args...))
}
