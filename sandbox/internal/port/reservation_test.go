// SPDX-License-Identifier: Apache-2.0

package port

import (
	"context"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReservation(t *testing.T) {
	reservation, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer reservation.Release()
	if listener, err := net.Listen("tcp", reservation.Address()); err == nil {
		listener.Close()
		t.Fatal("another program can take the port")
	}

	sharing := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	}}
	listener, err := sharing.Listen(context.Background(), "tcp", reservation.Address())
	if err != nil {
		t.Fatalf("the program that the port is for cannot take it: %v", err)
	}
	defer listener.Close()
	for range 20 {
		connection, err := net.Dial("tcp", reservation.Address())
		if err != nil {
			t.Fatalf("a connection went elsewhere: %v", err)
		}
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		accepted.Close()
		connection.Close()
	}
}

func TestReservationsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		reservation, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer reservation.Release()
		if seen[reservation.Port()] {
			t.Fatalf("port %d was given twice", reservation.Port())
		}
		seen[reservation.Port()] = true
	}
}
