package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// reminder is how often at least a line is written.
	reminder = 10 * time.Second
	// few is how many packages compile so fast that nobody needs a warning.
	few = 300
)

// progress writes to standard error how far a build is.
type progress struct {
	started time.Time
	ended   chan struct{}

	mu          sync.Mutex
	doing       string
	done, total int
}

func startProgress() *progress {
	p := &progress{started: time.Now(), ended: make(chan struct{})}
	go p.remind()
	return p
}

func (p *progress) stop() { close(p.ended) }

// phase says what is done now.
func (p *progress) phase(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = doing
	p.say()
}

// compiling says how many packages are to be compiled.
func (p *progress) compiling(total int) {
	if total > few {
		fmt.Fprintln(os.Stderr, "sandbox: compiling Kubernetes takes about 6 to 12 minutes on two cores; this is needed once")
	}
	p.mu.Lock()
	p.total = total
	p.mu.Unlock()
	p.phase("compiling")
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
		fmt.Fprintf(os.Stderr, "sandbox: [%s] %s\n", elapsed, p.doing)
	case p.done >= p.total:
		fmt.Fprintf(os.Stderr, "sandbox: [%s] linking\n", elapsed)
	default:
		fmt.Fprintf(os.Stderr, "sandbox: [%s] %s: %d %% (%d of %d packages)\n", elapsed, p.doing, 100*p.done/p.total, p.done, p.total)
	}
}
