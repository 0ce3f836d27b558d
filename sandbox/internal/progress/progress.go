// SPDX-License-Identifier: Apache-2.0

// Package progress prints the steps of a start, and what the steps are waiting
// for.
package progress

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"
)

// reminder is how often the log repeats the steps that are still waiting.
const reminder = 10 * time.Second

// Log writes a line for every step, with the time since the start. It is safe
// for concurrent use.
type Log struct {
	start time.Time

	mu     sync.Mutex
	out    io.Writer
	open   map[*Step]bool
	closed chan struct{}
}

// Step is something that the log waits for.
type Step struct {
	log     *Log
	name    string
	started time.Time
	status  string
}

// NewLog returns a log whose times count from now. Close ends its reminders.
func NewLog(out io.Writer) *Log {
	l := &Log{start: time.Now(), out: out, open: map[*Step]bool{}, closed: make(chan struct{})}
	go l.remind()
	return l
}

// Close ends the reminders. Lines can still be written.
func (l *Log) Close() { close(l.closed) }

// Printf writes a line.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line(format, args...)
}

// Begin writes that a step begins. The step is open until Done.
func (l *Log) Begin(format string, args ...any) *Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Step{log: l, name: fmt.Sprintf(format, args...), started: time.Now()}
	l.open[s] = true
	l.line("%s: waiting", s.name)
	return s
}

// Status sets what the reminders print about the step.
func (s *Step) Status(status string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.status = status
}

// Done closes the step. It returns err with the name of the step, or nil.
func (s *Step) Done(err error) error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	delete(s.log.open, s)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.log.line("%s: ready after %.1f s", s.name, time.Since(s.started).Seconds())
	return nil
}

func (l *Log) remind() {
	ticker := time.NewTicker(reminder)
	defer ticker.Stop()
	for {
		select {
		case <-l.closed:
			return
		case <-ticker.C:
			l.printOpen()
		}
	}
}

// printOpen writes a line for each open step, the oldest first.
func (l *Log) printOpen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	steps := make([]*Step, 0, len(l.open))
	for s := range l.open {
		steps = append(steps, s)
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].started.Before(steps[j].started) })
	for _, s := range steps {
		l.line("%s: still waiting after %.0f s (%s)", s.name, time.Since(s.started).Seconds(), s.status)
	}
}

// line writes a line. The caller holds the lock.
func (l *Log) line(format string, args ...any) {
	fmt.Fprintf(l.out, "[%5.1fs] %s\n", time.Since(l.start).Seconds(), fmt.Sprintf(format, args...))
}
