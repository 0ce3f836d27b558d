// Package port finds free ports and keeps them free until their user comes.
package port

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Reservation holds a free TCP port of the loopback interface. Nobody else is
// given the port while it lasts, but a program of the same user that sets
// SO_REUSEPORT (kube-apiserver --permit-port-sharing) can listen on it. So
// there is no moment between choosing a port and using it in which another
// process could take it.
type Reservation struct {
	socket int
	port   int
}

// Reserve has the kernel choose a free port. The socket is bound but never
// listens, hence gets no connection.
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

// Port is the number of the reserved port.
func (r *Reservation) Port() int { return r.port }

// Address is the reserved port's host:port.
func (r *Reservation) Address() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }

// Release gives the port back.
func (r *Reservation) Release() { _ = unix.Close(r.socket) }
