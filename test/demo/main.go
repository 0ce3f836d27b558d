// SPDX-License-Identifier: Apache-2.0

// Command demo shows how Trellis works: it starts an embedded Kubernetes and the
// operator, applies a Shoot as a user would, and prints each step until the Shoot's
// network is healthy. `make demo` runs it.
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
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/test/sandbox"
)

// operatorUser is the user name in the operator's client certificate.
const operatorUser = "trellis-operator"

// patience is the time that all steps together may take once the clusters are ready.
const patience = 3 * time.Minute

// The kernel ends the operator when the thread that started it ends. The main thread lives
// as long as the process, so the operator ends with the demo, even if that is killed.
func init() { runtime.LockOSThread() }

func main() {
	// Libraries add flags of their own to flag.CommandLine.
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	shootFile := flags.String("shoot", "examples/shoot-johndoe-azure.yaml", "file with the Shoot to apply")
	operator := flags.String("operator", "bin/trellis-operator", "the operator's program")
	exit := flags.Bool("exit", false, "exit when all steps are done, or one has failed")
	_ = flags.Parse(os.Args[1:])
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo takes no arguments, only flags; got %q\n", flags.Args())
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *shootFile, *operator, *exit)
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

func run(ctx context.Context, shootFile, operator string, exit bool) error {
	shoot, err := readShoot(shootFile)
	if err != nil {
		return err
	}
	name := client.ObjectKeyFromObject(shoot)
	started := time.Now() // the sandbox prints the same times
	box, err := sandbox.Start(ctx, sandbox.Options{
		Shoots: []string{name.String()}, Nodes: 3, Users: []string{operatorUser}, Stderr: os.Stderr,
	})
	if err != nil {
		return err
	}
	defer func() { _ = box.Stop() }()
	d := &demo{box: box, name: name, started: started}
	if err := d.connect(); err != nil {
		return err
	}
	if err := d.install(ctx); err != nil {
		return err
	}
	ended, err := d.startOperator(operator)
	if err != nil {
		return err
	}
	defer d.stopOperator()
	if err := d.apply(ctx, shoot); err != nil {
		return err
	}
	outcome := d.follow(ctx, ended)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.show(ctx)
	if exit {
		return outcome
	}
	d.showAccess()
	if outcome != nil {
		fmt.Printf("\n%v\n", outcome)
	}
	fmt.Println("\nThe clusters and the operator run until Ctrl-C.")
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-ended:
		return d.operatorEnded(err)
	}
}

// demo is one run.
type demo struct {
	box     *sandbox.Sandbox
	name    client.ObjectKey // of the Shoot
	started time.Time
	applied time.Time // when the Shoot was applied

	seed, shoot client.Client
	operator    *process
}

// connect makes clients for the clusters, with an admin's rights.
func (d *demo) connect() error {
	for _, each := range []struct {
		kubeconfig string
		into       *client.Client
	}{{d.box.Seed.Kubeconfig, &d.seed}, {d.box.Shoots[0].Kubeconfig, &d.shoot}} {
		config, err := clientcmd.BuildConfigFromFlags("", each.kubeconfig)
		if err != nil {
			return err
		}
		if *each.into, err = client.New(config, client.Options{Scheme: seedclient.Scheme()}); err != nil {
			return err
		}
	}
	return nil
}

// say prints a progress line.
func (d *demo) say(format string, args ...any) {
	fmt.Printf("[%5.1fs] %s\n", time.Since(d.started).Seconds(), fmt.Sprintf(format, args...))
}

// current reads the Shoot as it is now.
func (d *demo) current(ctx context.Context) (*corev1beta1.Shoot, error) {
	shoot := &corev1beta1.Shoot{}
	return shoot, d.seed.Get(ctx, d.name, shoot)
}
