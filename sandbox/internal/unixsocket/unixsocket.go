// SPDX-License-Identifier: Apache-2.0

// Package unixsocket listens on Unix sockets, and connects to them, at paths of any length.
// The kernel takes no path that is longer than 107 bytes (unix(7)), and the directory of a
// sandbox and the name of a shoot may be longer together.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Listen listens on a socket. It replaces the one that a former process has left.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var listener *net.UnixListener
	err := shorten(path, func(short string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	// The short path is gone by the time of the close.
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

// Dial connects to a socket.
func Dial(ctx context.Context, path string) (conn net.Conn, err error) {
	err = shorten(path, func(short string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", short)
		return err
	})
	return conn, err
}

// shorten calls do with a short path to the same file, which exists during the call.
func shorten(path string, do func(short string) error) error {
	directory, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	defer unix.Close(directory)
	if err := do(fmt.Sprintf("/proc/self/fd/%d/%s", directory, filepath.Base(path))); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
