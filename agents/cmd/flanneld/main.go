// SPDX-License-Identifier: Apache-2.0

// Command flanneld is flannel's daemon with the backends vxlan and host-gw, over flannel's own
// packages. flannel's own program has further backends, of which some need a C compiler or
// modules that are not available everywhere. Flags, files and environment variables are those
// of flannel; see README.md beside go.mod.
//
// It ends with status 0 after SIGTERM or SIGINT, 2 for invalid flags, and 1 if it cannot start
// or go on. When it ends, all that it has made in the kernel stays, so that packets go on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	options, err := parseOptions(os.Args[1:], os.LookupEnv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "flanneld:", err)
		os.Exit(2)
	case options.version:
		fmt.Println(version())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.Infof("%s starts", version())
	if err := run(ctx, options); err != nil && ctx.Err() == nil {
		klog.Errorf("flanneld ends: %v", err)
		klog.Flush()
		os.Exit(1)
	}
	klog.Info("flanneld ends, as it was asked to")
	klog.Flush()
}

// version returns the version of flannel's packages.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/flannel-io/flannel" {
				return "Trellis' flanneld over flannel " + module.Version
			}
		}
	}
	return "Trellis' flanneld"
}
