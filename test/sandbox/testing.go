// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// ForTest starts a sandbox for one test and stops it after the test. It fails the
// test if the sandbox does not start, or ends before the test.
func ForTest(tb testing.TB, options Options) *Sandbox {
	tb.Helper()
	s, err := Start(context.Background(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Shared is one sandbox for all tests of a package. The first Get starts it, so
// tests that do not need it do not wait for it.
type Shared struct {
	options Options
	start   func(context.Context, Options) (*Sandbox, error)

	once    sync.Once
	running *Sandbox
	err     error
}

// Share prepares a sandbox. The first Get starts it.
func Share(options Options) *Shared { return &Shared{options: options, start: Start} }

// Get returns the sandbox, and starts it on the first call. It fails the test if the
// sandbox does not start.
func (s *Shared) Get(tb testing.TB) *Sandbox {
	tb.Helper()
	s.once.Do(func() { s.running, s.err = s.start(context.Background(), s.options) })
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.running
}

// Main runs the package's tests, and then stops the sandbox if one of them started
// it. It returns the exit status. TestMain calls it with its testing.M, and needs
// nothing else. The process ends when `go test` is killed.
func (s *Shared) Main(m interface{ Run() int }) int {
	go EndWithParent()
	status := m.Run()
	if s.running == nil {
		return status
	}
	if err := s.running.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(1, status)
	}
	return status
}
