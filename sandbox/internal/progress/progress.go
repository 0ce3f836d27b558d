// Package progress tells people what is being done and what is being waited
// for.
package progress

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"time"
)

// reminder is how often is said what is still being waited for.
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

// Step is something that takes its time.
type Step struct {
	log     *Log
	name    string
	started time.Time
	status  string
}

// NewLog starts the clock. Close ends the reminders.
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

// Begin says that something is begun; the step is open until Done.
func (l *Log) Begin(format string, args ...any) *Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Step{log: l, name: fmt.Sprintf(format, args...), started: time.Now()}
	l.open[s] = true
	l.line("%s: waiting", s.name)
	return s
}

// Status notes how far the step is, for the reminders.
func (s *Step) Status(status string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.status = status
}

// Done closes the step, and returns err with the step's name, if there is one.
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
			l.sayOpen()
		}
	}
}

// sayOpen names the open steps, the oldest first.
func (l *Log) sayOpen() {
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

// line needs the lock.
func (l *Log) line(format string, args ...any) {
	fmt.Fprintf(l.out, "[%5.1fs] %s\n", time.Since(l.start).Seconds(), fmt.Sprintf(format, args...))
}
