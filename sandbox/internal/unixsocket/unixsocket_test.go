// SPDX-License-Identifier: Apache-2.0

package unixsocket

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPathMayBeLong(t *testing.T) {
	directory := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "socket")
	for range 2 { // the second time, the first socket is still there
		listener, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []interface{ Close() error }{conn, accepted, listener} {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnErrorNamesThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	path = filepath.Join(t.TempDir(), "gone", "socket")
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Errorf("got %v", err)
	}
}
