// SPDX-License-Identifier: Apache-2.0

// Package port reserves free ports until a component listens on them.
package port

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Reservation holds a free TCP port of the loopback interface. While it lasts, the
// kernel gives the port to no other program, but a program of the same user that
// sets SO_REUSEPORT (kube-apiserver --permit-port-sharing) can listen on it. So no
// other process can take the port between the choice and the use of it.
type Reservation struct {
	socket int
	port   int
}

// Reserve lets the kernel choose a free port. It binds a socket that never
// listens, so the socket receives no connections.
func Reserve() (*Reservation, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	port, err := bind(socket)
	if err != nil {
		_ = unix.Close(socket)
		return nil, fmt.Errorf("reserve a port of 127.0.0.1: %w", err)
	}
	return &Reservation{socket: socket, port: port}, nil
}

func bind(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	return address.(*unix.SockaddrInet4).Port, nil
}

// Port returns the number of the reserved port.
func (r *Reservation) Port() int { return r.port }

// Address returns the reserved port as host:port.
func (r *Reservation) Address() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }

// Release makes the port available to other programs.
func (r *Reservation) Release() { _ = unix.Close(r.socket) }
