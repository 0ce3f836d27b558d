// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
	"time"
)

// Attempt tries to reach a target once. full also exchanges full segments, where the target is a
// peer. It may take a few seconds, and fewer once ctx ends.
type Attempt func(ctx context.Context, target Target, full bool) Outcome

const (
	// spread is the part of the interval in which the first attempts begin.
	spread = 0.3
	// deviation is the part of the interval by which two attempts are nearer or farther at most,
	// so that the probes of a cluster do not keep step.
	deviation = 0.1
	// pause is the least time between the end of an attempt and the next one.
	pause = time.Second
)

// board tests targets, each at its own times, and keeps their histories.
type board struct {
	attempt  Attempt
	interval time.Duration
	// chance returns a number from 0 to 1.
	chance func() float64
	// learned is called with the addresses that a peer states for its node.
	learned func(node string, addresses []string)
	// changed gets a value when a target has begun or ceased to fail, and after its first attempt.
	changed chan struct{}

	running sync.WaitGroup
	mutex   sync.Mutex
	tested  map[Target]*tested
}

type tested struct {
	history History
	stop    context.CancelFunc
}

// set tests these targets from now on. Those that were tested before keep their histories. A
// target that is no longer tested is forgotten.
func (b *board) set(ctx context.Context, targets []Target) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	keep := make(map[Target]bool, len(targets))
	for _, target := range targets {
		keep[target] = true
		if b.tested[target] != nil {
			continue
		}
		testing, stop := context.WithCancel(ctx)
		b.tested[target] = &tested{stop: stop}
		b.running.Go(func() { b.test(testing, target) })
	}
	for target, one := range b.tested {
		if !keep[target] {
			one.stop()
			delete(b.tested, target)
		}
	}
}

// test makes attempts until ctx ends.
func (b *board) test(ctx context.Context, target Target) {
	wait := time.Duration(b.chance() * spread * float64(b.interval))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		b.mutex.Lock()
		one := b.tested[target]
		full := one != nil && one.history.WantsFullSegments()
		b.mutex.Unlock()
		outcome := b.attempt(ctx, target, full)
		if ctx.Err() != nil {
			return // it was cut off
		}
		b.record(ctx, target, outcome)
		next := time.Duration((1 - deviation + 2*deviation*b.chance()) * float64(b.interval))
		wait = max(pause, next-outcome.Ended.Sub(outcome.Started))
	}
}

func (b *board) record(ctx context.Context, target Target, outcome Outcome) {
	b.mutex.Lock()
	one := b.tested[target]
	if ctx.Err() != nil || one == nil {
		b.mutex.Unlock()
		return
	}
	first, before := one.history.attempts == 0, one.history.IsFailing()
	one.history.Record(outcome)
	news := first || before != one.history.IsFailing()
	b.mutex.Unlock()
	if len(outcome.NodeAddresses) > 0 {
		b.learned(target.Name, outcome.NodeAddresses)
	}
	if news {
		notify(b.changed)
	}
}

// snapshot returns all targets with their histories.
func (b *board) snapshot() []Tested {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	all := make([]Tested, 0, len(b.tested))
	for target, one := range b.tested {
		all = append(all, Tested{target, one.history})
	}
	return all
}

// notify makes a channel of length 1 have a value.
func notify(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
