// SPDX-License-Identifier: Apache-2.0

package wave

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// Pacer admits Networks in waves. It reads all Networks from a cache, and remembers what this
// process has found out that a cache may not show yet. Only the leader has one that decides.
type Pacer struct {
	Policy
	// Networks lists the Networks that take part. They must not be changed.
	Networks func(context.Context) ([]*extensionsv1alpha1.Network, error)
	// RecordOf returns the Record in a Network's state, nil if there is none.
	RecordOf func(*extensionsv1alpha1.Network) *Record
	// Clock is the source of time.
	Clock clock.PassiveClock
	// Measure is told the phase of each Network whenever that may have changed; empty means none.
	Measure func(types.NamespacedName, Phase)
	// Halted is told when the roll-out halts, and when it goes on.
	Halted func(Situation)

	mu sync.Mutex
	// known is what this process has found out. It takes precedence over the cache.
	known map[types.NamespacedName]known
	// wake has a Network reconciled soon.
	wake func(types.NamespacedName)
	// told is the situation of which the waiting Networks know.
	told situationKey
}

type known struct {
	uid    types.UID
	record *Record
}

// situationKey is what of a Situation makes a difference to Networks that wait.
type situationKey struct {
	stage               Reason
	progressing, failed int
}

// OnWake sets what has a Network reconciled soon.
func (p *Pacer) OnWake(wake func(types.NamespacedName)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake = wake
}

// Admit decides whether a Network may be written now, and counts one that may as Progressing until Keep
// tells what became of it. So never more are admitted than the Policy allows, however many goroutines
// ask at once.
func (p *Pacer) Admit(ctx context.Context, n *extensionsv1alpha1.Network) (Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict, err := p.look(ctx, n)
	if err == nil && verdict.Admits() {
		p.set(n, p.Begin(&n.Status, p.Clock.Now()))
	}
	return verdict, err
}

// Look returns what Admit would decide, and counts nothing.
func (p *Pacer) Look(ctx context.Context, n *extensionsv1alpha1.Network) (Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look(ctx, n)
}

func (p *Pacer) look(ctx context.Context, n *extensionsv1alpha1.Network) (Verdict, error) {
	members, err := p.members(ctx)
	if err != nil {
		return Verdict{}, err
	}
	name := nameOf(n)
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Name == name })
	member := p.member(n)
	if member.Record.Is(Progressing) { // what it has is replaced
		member.Record = nil
	}
	s := p.Assess(append(members, member), p.Clock.Now())
	return s.Admit(&member), nil
}

// Keep states what a Network's state has now. Networks that wait for that are woken.
func (p *Pacer) Keep(ctx context.Context, n *extensionsv1alpha1.Network, record *Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(n, record)
	p.tell(ctx)
}

// Tell wakes the Networks that wait for what may have changed of others.
func (p *Pacer) Tell(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(ctx)
}

// set remembers a Record, which only this process changes.
func (p *Pacer) set(n *extensionsv1alpha1.Network, record *Record) {
	if p.known == nil {
		p.known = map[types.NamespacedName]known{}
	}
	name := nameOf(n)
	p.known[name] = known{n.UID, record}
	phase := Phase("")
	if record != nil {
		phase = record.Phase
	}
	p.Measure(name, phase)
}

// Forget drops what is known of a Network that is gone. Others may take its place.
func (p *Pacer) Forget(ctx context.Context, name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, name)
	p.tell(ctx)
}

// tell wakes Networks that wait, if the situation has changed for them: all if they wait for
// something else now, otherwise as many as may be written.
func (p *Pacer) tell(ctx context.Context) {
	isConcerned := p.told.stage == RolloutHalted
	for _, each := range p.known {
		isConcerned = isConcerned || each.record.Is(Pending) || each.record.IsOf(p.Revision, Failed)
	}
	if !isConcerned {
		return
	}
	members, err := p.members(ctx)
	if err != nil {
		return // the next that is kept tells
	}
	s := p.Assess(members, p.Clock.Now())
	before, now := p.told, situationKey{s.stage(), s.Progressing, len(s.Failed)}
	p.told = now
	if (before.stage == RolloutHalted) != (now.stage == RolloutHalted) {
		p.Halted(s)
	}
	if before == now || p.wake == nil {
		return
	}
	var waiting []types.NamespacedName
	for i := range members {
		m := &members[i]
		if m.Record.Is(Pending) && (before.stage != now.stage || s.Admit(m).Admits()) {
			waiting = append(waiting, m.Name)
		}
	}
	if before.stage == now.stage {
		slices.SortFunc(waiting, func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		waiting = waiting[:min(len(waiting), max(0, s.Limit-s.Progressing))]
	}
	for _, name := range waiting {
		p.wake(name)
	}
}

// members returns all Networks that take part.
func (p *Pacer) members(ctx context.Context) ([]Member, error) {
	networks, err := p.Networks(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the Networks of the roll-out: %w", err)
	}
	members := make([]Member, 0, len(networks))
	for _, n := range networks {
		if n.DeletionTimestamp.IsZero() {
			members = append(members, p.member(n))
		}
	}
	return members, nil
}

func (p *Pacer) member(n *extensionsv1alpha1.Network) Member {
	name := nameOf(n)
	m := Member{
		Name: name, Canary: len(p.CanaryLabels) > 0,
		Paused: n.Annotations[extensionsv1alpha1.RolloutAnnotation] == extensionsv1alpha1.RolloutPause,
		Urgent: n.Annotations[extensionsv1alpha1.RolloutAnnotation] == extensionsv1alpha1.RolloutNow,
	}
	for key, value := range p.CanaryLabels {
		if has, ok := n.Labels[key]; !ok || has != value {
			m.Canary = false
		}
	}
	if at, err := time.Parse(time.RFC3339, n.Annotations[extensionsv1alpha1.RolloutResumedAtAnnotation]); err == nil {
		m.Resumed = at
	}
	if found, ok := p.known[name]; ok && found.uid == n.UID {
		m.Record = found.record
	} else {
		m.Record = p.RecordOf(n)
		p.set(n, m.Record)
	}
	return m
}

func nameOf(n *extensionsv1alpha1.Network) types.NamespacedName {
	return types.NamespacedName{Namespace: n.Namespace, Name: n.Name}
}
