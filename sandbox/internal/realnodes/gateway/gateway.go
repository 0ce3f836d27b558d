// SPDX-License-Identifier: Apache-2.0

// Package gateway connects a shoot's real nodes, which are in network namespaces, with what
// is on the machine: the API server, and registries of images. It listens on Unix sockets
// and on the loopback interface.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/registries"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/relay"
	"github.com/trellis-network/trellis/sandbox/internal/unixsocket"
)

// NewCommand returns the program that is the gateway of the shoot of a plan, until ctx ends.
func NewCommand(ctx context.Context) *cobra.Command {
	return &cobra.Command{
		Use:          "gateway PLAN",
		Args:         cobra.ExactArgs(1),
		SilenceUsage: true,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := plan.Read(args[0])
			if err != nil {
				return err
			}
			return serve(ctx, p)
		},
	}
}

func serve(ctx context.Context, p *plan.Plan) error {
	// What anybody on the machine could reach is the API server and nothing else.
	apiServer := relay.Only(p.APIServerOnMachine.String(), p.APIServer.String())
	failed := make(chan error, 3)
	for _, opening := range []struct {
		listen func() (net.Listener, error)
		dial   relay.Dial
	}{
		{func() (net.Listener, error) { return unixsocket.Listen(p.Gateway) }, apiServer},
		{func() (net.Listener, error) { return unixsocket.Listen(p.Outward) }, registries.New(p.Registries).Dial},
		{func() (net.Listener, error) { return listenReserved(ctx, p.Proxy.String()) }, apiServer},
	} {
		listener, err := opening.listen()
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		defer listener.Close()
		go func() { failed <- relay.Serve(listener, opening.dial) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// listenReserved listens on a port that the supervisor holds.
func listenReserved(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(socket uintptr) {
			err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		})
		return errors.Join(failed, err)
	}}
	return config.Listen(ctx, "tcp", address)
}
