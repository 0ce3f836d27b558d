package sandbox

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// ForTest starts a sandbox for one test and stops it when the test is over. It
// fails the test if the sandbox does not start, or ends before the test does.
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

// Shared is one sandbox for all tests of a package. It starts when the first
// test asks for it, so tests that don't need it don't wait for it.
type Shared struct {
	options Options
	start   func(context.Context, Options) (*Sandbox, error)

	once    sync.Once
	running *Sandbox
	err     error
}

// Share prepares a sandbox. Nothing is started yet.
func Share(options Options) *Shared { return &Shared{options: options, start: Start} }

// Get returns the sandbox, starting it if need be. It fails the test if it
// doesn't start.
func (s *Shared) Get(tb testing.TB) *Sandbox {
	tb.Helper()
	s.once.Do(func() { s.running, s.err = s.start(context.Background(), s.options) })
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.running
}

// Main runs the package's tests and stops the sandbox after them, if one of
// them had it started. It is all that TestMain has to call, with its testing.M, and
// returns the exit status. The process ends early if `go test` is killed.
func (s *Shared) Main(m interface{ Run() int }) int {
	go endWithParent()
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
