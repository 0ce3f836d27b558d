// SPDX-License-Identifier: Apache-2.0

package gobuild

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// reminder is how often at least a line is written.
	reminder = 10 * time.Second
	// few is how many packages compile so fast that the user needs no warning.
	few = 300
)

// progress writes to standard error how far a build is. What is done within a
// reminder leaves no line.
type progress struct {
	name, long string
	started    time.Time
	ended      chan struct{}

	mu          sync.Mutex
	doing       string
	done, total int
}

func startProgress(name, long string) *progress {
	p := &progress{name: name, long: long, started: time.Now(), ended: make(chan struct{})}
	go p.remind()
	return p
}

func (p *progress) stop() { close(p.ended) }

// phase says what is done now.
func (p *progress) phase(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
}

// compiling notes that compilation begins, and how many packages it compiles.
func (p *progress) compiling(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.total = "compiling", total
	if total > few {
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, p.long)
		p.say()
	}
}

// compiled counts a package.
func (p *progress) compiled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
}

func (p *progress) remind() {
	ticker := time.NewTicker(reminder)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.say()
			p.mu.Unlock()
		}
	}
}

// say needs the lock.
func (p *progress) say() {
	elapsed := time.Since(p.started).Round(time.Second)
	switch {
	case p.total == 0:
		fmt.Fprintf(os.Stderr, "%s: [%s] %s\n", p.name, elapsed, p.doing)
	case p.done >= p.total:
		fmt.Fprintf(os.Stderr, "%s: [%s] linking\n", p.name, elapsed)
	default:
		fmt.Fprintf(os.Stderr, "%s: [%s] %s: %d %% (%d of %d packages)\n", p.name, elapsed, p.doing, 100*p.done/p.total, p.done, p.total)
	}
}
