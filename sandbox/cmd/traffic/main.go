// SPDX-License-Identifier: Apache-2.0

// Command traffic is what pods on real nodes test a network with:
//
//	traffic [serve] [-listen :8080]      answers HTTP and UDP until it is told to end
//	traffic send -to HOST:PORT [-every 5ms] [-http-every 50ms] [-for 30s] [-timeout 2s]
//	traffic get [-times 1] [-timeout 2s] URL
//
// serve answers each datagram with itself, and each HTTP request with a line: the host name,
// the address that it was reached at, and the one that it was asked from. With ?bytes=N it
// answers with N bytes. send sends datagrams, and beside them HTTP requests, some on fresh
// connections and some on one that it keeps. It prints one line of JSON: what was lost, and for how
// long. get prints the answers.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/traffic"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	name := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	switch name {
	case "serve":
		listen := flags.String("listen", ":8080", "the address and port, for TCP and UDP")
		_ = flags.Parse(args)
		server, err := traffic.Listen(*listen)
		if err != nil {
			return err
		}
		return server.Serve(ctx)
	case "send":
		var load traffic.Load
		flags.StringVar(&load.To, "to", "", "what is sent to, as host:port")
		flags.DurationVar(&load.Every, "every", 5*time.Millisecond, "the time between two datagrams")
		flags.DurationVar(&load.HTTPEvery, "http-every", 50*time.Millisecond, "the time between two HTTP requests of a kind")
		flags.DurationVar(&load.For, "for", 30*time.Second, "how long to send")
		flags.DurationVar(&load.Timeout, "timeout", 2*time.Second, "how long to wait for an answer")
		_ = flags.Parse(args)
		report, err := load.Send(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(report)
	case "get":
		times := flags.Int("times", 1, "the number of requests, each on a fresh connection")
		timeout := flags.Duration("timeout", 2*time.Second, "how long to wait for an answer")
		_ = flags.Parse(args)
		for range *times {
			if err := traffic.Get(ctx, flags.Arg(0), *timeout, os.Stdout); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("there is no command %q; there are serve, send and get", name)
}
