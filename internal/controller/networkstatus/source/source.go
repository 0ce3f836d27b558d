// SPDX-License-Identifier: Apache-2.0

// Package source is the interface between what is observed of a Network and the one writer
// of its status: a Source observes one aspect and returns a Report; the package
// networkstatus merges the Reports of all Sources and writes them.
package source

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
)

// Source observes one aspect of Networks.
type Source interface {
	// Report observes a Network. It is called after each event about the Network, its
	// Cluster or the shoot's access, after changes of the source's Watches, and when its
	// last report asks for it; for one Network never twice at once. ctx has a deadline.
	//
	// What the shoot does wrong is part of the report, for example as a condition with
	// the status Unknown. An error means that there is no report: what the source
	// reported before stays in the status, the other sources' reports are written, and
	// the controller asks again with back-off, or earlier when another source wants to
	// report again. A panic counts as an error.
	Report(ctx context.Context, in Input) (Report, error)
	// Forget drops what the source remembers of a Network that no longer exists.
	Forget(network types.NamespacedName)
}

// Input is what a Source gets to observe a Network. Sources run at the same time, so
// they must not change anything that is in it.
type Input struct {
	// Network is the Network as the cache has it.
	Network *extensionsv1alpha1.Network
	// State is what its status.state says.
	State *state.State
	// Components are the workloads that the network consists of; there is at least one.
	Components []plugin.Component
	// Unapplied describes, for users, the bundles of the network that the resource manager fails
	// to apply.
	Unapplied []string
	// WithoutProbes reports whether the network was given no probes of the connectivity, or has been
	// deprived of them.
	WithoutProbes bool
	// Hibernated reports whether the user wants the cluster to be hibernated. Like
	// Gardener's health checks, it goes by the spec: a cluster that is falling asleep is
	// not broken.
	Hibernated bool
	// Shoot returns the client of the shoot, whose API server has answered recently. Its
	// error describes for users why the shoot cannot be observed.
	Shoot func(context.Context) (*shootclient.Shoot, error)
	// Now is the time of the observation.
	Now time.Time
}

// Report is what a Source states about a Network. What is in a Network's status from an
// earlier report of the source and not in this one is removed.
type Report struct {
	// Conditions state the status, reason, message and codes of conditions that the
	// source owns. The writer sets the times, and shortens messages that are too long.
	Conditions []corev1beta1.Condition
	// ProviderStatus has the top-level keys of the providerStatus that the source owns.
	// The values must be encodable as JSON.
	ProviderStatus map[string]any
	// RequeueAfter is when the source must report again at the latest; 0 means that
	// only an event can change the report.
	RequeueAfter time.Duration
}

// Registration states which part of a Network's status belongs to a Source, and what it
// observes. No two sources own the same part.
type Registration struct {
	// Name identifies the source in errors and logs.
	Name   string
	Source Source
	// Conditions are the types of the conditions that the source owns.
	Conditions []string
	// ProviderStatus are the top-level keys of the providerStatus that the source owns.
	ProviderStatus []string
	// Watches declare what the source reads of the shoot. It reports after each change of
	// objects that are not Silent.
	Watches []shootclient.Watch
}
