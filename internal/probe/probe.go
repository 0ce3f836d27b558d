// SPDX-License-Identifier: Apache-2.0

// Package probe is the probe of one node: it finds the probes of other nodes, tests a few of
// them and what else pods rely on, and reports to its API server.
//
//	choose     which nodes a node tests (pure)
//	measure    attempts to reach a target
//	respond    answers other probes
//	apiserver  the requests to the API server
//	podnet     what a pod can see of its own network
package probe

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
	"github.com/trellis-network/trellis/internal/times"
)

// APIServer is what a probe asks of its API server.
type APIServer interface {
	Endpoints(ctx context.Context, namespace, service string) ([]apiserver.Endpoint, error)
	ServiceIPs(ctx context.Context, namespace, service string) ([]netip.Addr, error)
	Report(ctx context.Context, node string, report v1alpha1.Report) error
}

// Probe tests and reports.
type Probe struct {
	Settings
	DNS DNS
	API APIServer
	// Attempt tries to reach a target. Any number run at a time.
	Attempt Attempt
	// PodInterface reads what a report has of the pod's own interface.
	PodInterface func() *v1alpha1.PodInterface
	// Chance returns a number from 0 to 1. Any number of goroutines may call it.
	Chance func() float64
	Log    *slog.Logger
}

// stated is what a peer states for its node.
type stated struct {
	node      string
	addresses []string
}

// Run tests and reports until ctx ends. Everything but the attempts takes place in its goroutine.
func (p *Probe) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{
		Probe:     p,
		knowledge: knowledge{Settings: p.Settings, dns: p.DNS, nodeAddresses: map[string][]netip.Addr{}},
		learned:   make(chan stated),
		pace:      pace{gap: p.Interval, interval: p.ReportInterval, chance: p.Chance},
	}
	r.pace.begin(time.Now())
	r.board = &board{
		attempt: p.Attempt, interval: p.Interval, chance: p.Chance,
		changed: make(chan struct{}, 1), tested: map[Target]*tested{},
		learned: func(node string, addresses []string) {
			select {
			case r.learned <- stated{node, addresses}:
			case <-ctx.Done():
			}
		},
	}
	defer r.board.running.Wait()
	defer cancel()
	r.loop(ctx)
}

// run is a Probe that runs.
type run struct {
	*Probe
	knowledge knowledge
	board     *board
	learned   chan stated
	pace      pace

	refreshAt       time.Time // when the peers are read next
	refreshed       time.Time // when the last read began
	reads, failures int       // of the peers: successful ones, and failed ones since
}

func (r *run) loop(ctx context.Context) {
	for {
		now := time.Now()
		r.board.set(ctx, r.knowledge.targets(now))
		all := r.board.snapshot()
		reportAt := r.pace.next(all)
		if doubtful(all, r.refreshed) {
			// What fails may be gone, or have another address: that is found out first.
			r.refreshAt = times.Earlier(r.refreshAt, r.refreshed.Add(r.Interval))
			reportAt = times.Later(reportAt, times.Earlier(r.refreshAt, r.pace.latest))
		} else if r.failures == 0 && peerFails(all) {
			r.refreshAt = times.Earlier(r.refreshAt, r.refreshed.Add(refreshPeriod(len(r.knowledge.roster.peers))/haste))
		}
		next := times.Earlier(r.refreshAt, times.Earlier(reportAt, endOfRotation(now)))
		select {
		case <-ctx.Done():
			return
		case stated := <-r.learned:
			r.knowledge.learn(stated.node, stated.addresses)
			continue
		case <-r.board.changed:
			continue
		case <-time.After(next.Sub(now)):
		}
		switch now = time.Now(); {
		case !now.Before(r.refreshAt):
			r.refresh(ctx)
		case !now.Before(reportAt):
			r.report(ctx)
		}
	}
}

// doubtful reports whether a target that is known from the API server has begun to fail since that
// was read.
func doubtful(all []Tested, refreshed time.Time) bool {
	return slices.ContainsFunc(all, func(one Tested) bool {
		known := one.Type == v1alpha1.CheckPods || one.Type == v1alpha1.CheckNodes || one.Type == v1alpha1.CheckServices
		return known && one.IsFailing() && one.failingSince.After(refreshed)
	})
}

// peerFails reports whether a peer fails. When its node has started again, its probe has another
// address.
func peerFails(all []Tested) bool {
	return slices.ContainsFunc(all, func(one Tested) bool { return one.Type == v1alpha1.CheckPods && one.IsFailing() })
}

// serviceFails reports whether a cluster IP fails.
func serviceFails(all []Tested) bool {
	return slices.ContainsFunc(all, func(one Tested) bool { return one.Type == v1alpha1.CheckServices && one.IsFailing() })
}

func endOfRotation(now time.Time) time.Time {
	return time.Unix((rotationAt(now)+1)*int64(rotationPeriod/time.Second), 0)
}

// refresh reads the peers, and the addresses of the Service if they are unknown or fail.
func (r *run) refresh(ctx context.Context) {
	r.refreshed = time.Now()
	endpoints, err := r.API.Endpoints(ctx, r.Namespace, r.Service)
	if err == nil {
		r.knowledge.roster.Update(r.Node, endpoints)
		r.knowledge.forget()
	}
	if err == nil && (len(r.knowledge.serviceIPs) == 0 || serviceFails(r.board.snapshot())) {
		var addresses []netip.Addr
		if addresses, err = r.API.ServiceIPs(ctx, r.Namespace, r.Service); err == nil {
			r.knowledge.serviceIPs = addresses
		}
	}
	now := time.Now()
	if err != nil {
		r.failures++
		r.refreshAt = now.Add(retry(r.failures, askedToWait(err), r.Chance()))
		r.Log.Warn("The peers cannot be read", "error", err, "again in", r.refreshAt.Sub(now).Round(time.Second).String())
		return
	}
	r.reads, r.failures = r.reads+1, 0
	period := nextRefresh(r.reads-1, len(r.knowledge.roster.peers))
	r.refreshAt = now.Add(period - time.Duration(r.Chance()*deviation*float64(period)))
}

// report writes a report of what is known now.
func (r *run) report(ctx context.Context) {
	all := r.board.snapshot()
	err := r.API.Report(ctx, r.Node, NewReport(time.Now(), r.Version, len(r.knowledge.roster.peers), r.PodInterface(), all))
	if err != nil {
		r.pace.failed(time.Now(), askedToWait(err))
		r.Log.Warn("The report cannot be written", "error", err)
		return
	}
	r.pace.succeeded(time.Now(), all)
}

// askedToWait returns how long an answer asks to wait, 0 if it does not.
func askedToWait(err error) time.Duration {
	if status := (*apiserver.StatusError)(nil); errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}
