// SPDX-License-Identifier: Apache-2.0

// Package state is what Trellis keeps in a Network's status.state: what was
// applied last, what was written and is awaited, and which workloads to
// watch. It moves with the control plane to another seed.
package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/jsonequal"
	"github.com/trellis-network/trellis/internal/transition"
	"github.com/trellis-network/trellis/internal/wave"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// State is the content of status.state.
type State struct {
	// Applied is what the shoot is known to have.
	Applied *pipeline.Applied `json:"applied,omitempty"`
	// Written is what the bundles were built for that were written last. It stays after
	// they are applied. It is nil if the spec was refused since: then the success of
	// Bundles is not that of the spec.
	Written *Written `json:"written,omitempty"`
	// Bundles are the bundles that were written last, in ascending phases.
	Bundles []Bundle `json:"bundles,omitempty"`
	// TakenOver is what another extension's network ran for when Trellis found it. It is
	// kept until Trellis has applied the network itself.
	TakenOver *pipeline.Accepted `json:"takenOver,omitempty"`
	// Unapplied means that the network has succeeded without being applied, because the shoot
	// was hibernated. Once the shoot wakes up it is awaited.
	Unapplied bool `json:"unapplied,omitempty"`
	// PendingRequest means that the annotation which asked for a reconciliation is gone before
	// it has begun, because the Cluster is missing or the shoot has another Network.
	PendingRequest bool `json:"pendingRequest,omitempty"`
	// ShootGeneration is the generation of the Shoot in the Cluster that was taken into
	// account last. It is kept only in standalone mode, where the shoot controller waits for it.
	ShootGeneration int64 `json:"shootGeneration,omitempty"`
	// Rollout is where the Network stands in the roll-out of a version of the operator, where that
	// is paced.
	Rollout *wave.Record `json:"rollout,omitempty"`
	// Transition is where the Network stands on the way to what its spec asks for, if it goes there in
	// steps.
	Transition *transition.Record `json:"transition,omitempty"`
	// Exchange is where the cluster stands if its nodes go to the network of another type.
	Exchange *Exchange `json:"exchange,omitempty"`
	// Inputs are what users stated when the bundles were built. Kept only where roll-outs are paced.
	Inputs *Inputs `json:"inputs,omitempty"`
	// Components are the workloads whose health is reported.
	Components []plugin.Component `json:"components,omitempty"`
}

// Inputs are what is stated of a network beside its spec, as far as it shows that a user, or the cluster,
// has changed something. They are kept as they were stated, so that a release that reads more of a
// Shoot finds the same.
type Inputs struct {
	// ShootGeneration is that of the Shoot in the Cluster.
	ShootGeneration int64 `json:"shootGeneration,omitempty"`
	// Reported is a hash of what the Shoot's status reports that networks depend on: the ranges, and
	// the addresses of the API server.
	Reported string `json:"reported,omitempty"`
	// MaxUnavailable and WithoutProbe are what the annotations of the Network and the Shoot state.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	WithoutProbe   bool   `json:"withoutProbe,omitempty"`
	// APIServer is the address for pods, host:port, or empty.
	APIServer string `json:"apiServer,omitempty"`
}

// Written is what bundles were built for.
type Written struct {
	// Generation of the Network.
	Generation int64 `json:"generation"`
	// Config is what becomes State.Applied once the bundles are applied.
	Config *pipeline.Applied `json:"config"`
	// IPFamilies are what status.ipFamilies becomes then.
	IPFamilies []extensionsv1alpha1.IPFamily `json:"ipFamilies,omitempty"`
	// Warnings are what users are told then.
	Warnings []plugin.Warning `json:"warnings,omitempty"`
}

// Bundle is a bundle that was written. All but Secret is as in plugin.Bundle.
type Bundle struct {
	// Name of the ManagedResource.
	Name string `json:"name"`
	// Secret is the name of the Secret with the objects. It contains a hash of them.
	Secret         string `json:"secret"`
	Await          bool   `json:"await,omitempty"`
	KeepOnMigrate  bool   `json:"keepOnMigrate,omitempty"`
	FollowsWebhook bool   `json:"followsWebhook,omitempty"`
	Phase          int    `json:"phase,omitempty"`
}

// BundleOf returns what is kept of a bundle.
func BundleOf(b *plugin.Bundle, secret string) Bundle {
	return Bundle{
		Name: b.Name, Secret: secret,
		Await: b.Await, KeepOnMigrate: b.KeepOnMigrate, FollowsWebhook: b.FollowsWebhook, Phase: b.Phase,
	}
}

// Bundle returns the bundle of a name, and whether there is one.
func (s *State) Bundle(name string) (Bundle, bool) {
	i := slices.IndexFunc(s.Bundles, func(b Bundle) bool { return b.Name == name })
	if i < 0 {
		return Bundle{}, false
	}
	return s.Bundles[i], true
}

// IsFor reports whether the bundles were written for what next says. The order of the config's
// keys, and what it was accepted for, make no difference.
func (s *State) IsFor(next *Written, bundles []Bundle) bool {
	if s.Written == nil || next == nil || !slices.Equal(s.Bundles, bundles) {
		return false
	}
	same, err := jsonequal.Values(s.Written.content(), next.content())
	return err == nil && same
}

// Kept returns what was written last if next is the same, also in what its config was accepted
// for, and otherwise next. What is kept and applied stays one config, so that the encoding of the
// state stays as it is.
func (s *State) Kept(next *Written) *Written {
	if s.Written == nil {
		return next
	}
	if same, err := jsonequal.Values(s.Written, next); err != nil || !same {
		return next
	}
	return s.Written
}

// content is what is compared.
func (w *Written) content() *Written {
	without := *w
	if w.Config != nil {
		config := *w.Config
		config.Accepted = nil
		without.Config = &config
	}
	return &without
}

// stored is how a State is encoded.
type stored struct {
	State `json:",inline"`
	// WrittenIsApplied stands for State.Applied if that is what Written has.
	WrittenIsApplied bool `json:"writtenIsApplied,omitempty"`
}

// Decode reads status.state. Nothing gives an empty State.
func Decode(raw *runtime.RawExtension) (*State, error) {
	s := &stored{}
	if raw == nil || len(raw.Raw) == 0 {
		return &s.State, nil
	}
	if err := json.Unmarshal(raw.Raw, s); err != nil {
		return nil, fmt.Errorf("status.state is not Trellis': %w", err)
	}
	if s.WrittenIsApplied && s.Written != nil {
		s.Applied = s.Written.Config
	}
	return &s.State, nil
}

// Encode is the inverse of Decode. A Config that is both applied and written is encoded once.
func (s *State) Encode() (*runtime.RawExtension, error) {
	encoded := stored{State: *s}
	if s.Written != nil && s.Applied == s.Written.Config {
		encoded.Applied, encoded.WrittenIsApplied = nil, s.Applied != nil
	}
	raw, err := json.Marshal(encoded)
	if err != nil {
		return nil, fmt.Errorf("encode status.state: %w", err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}
