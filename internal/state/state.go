// SPDX-License-Identifier: Apache-2.0

// Package state is what Trellis keeps in a Network's status.state: what was
// applied last, what was written and is waited for, and which workloads to
// watch. It moves with the control plane to another seed.
//
// It refuses to know how any of it came about.
package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// State is the content of status.state.
type State struct {
	// Applied is what the shoot is known to have.
	Applied *pipeline.Applied `json:"applied,omitempty"`
	// Written is what was written for the shoot last. It is kept after it was
	// applied, to tell what a ManagedResource's status is about.
	Written *Written `json:"written,omitempty"`
	// TakenOver is what the network of another ran for when Trellis found it. It is kept
	// until Trellis has applied the network itself.
	TakenOver *pipeline.Accepted `json:"takenOver,omitempty"`
	// ShootGeneration is the generation of the Shoot, as the Cluster had it, that
	// was taken into account last. It is kept only where the Shoot's own controller
	// is Trellis', which waits for it.
	ShootGeneration int64 `json:"shootGeneration,omitempty"`
	// Components are the workloads by which the network's health is judged.
	Components []plugin.Component `json:"components,omitempty"`
}

// Written is a bundle that was written for the shoot.
type Written struct {
	// Generation of the Network that it was built from.
	Generation int64 `json:"generation"`
	// Bundle is the name of the Secret that holds it; it contains a hash of the
	// content.
	Bundle string `json:"bundle"`
	// Later, Seed and Admission are the same of the bundles that were written along
	// with it and are not waited for; empty where there was none.
	Later     string `json:"later,omitempty"`
	Seed      string `json:"seed,omitempty"`
	Admission string `json:"admission,omitempty"`
	// Config is what becomes State.Applied once the bundle is applied.
	Config *pipeline.Applied `json:"config"`
	// IPFamilies are what status.ipFamilies becomes then.
	IPFamilies []extensionsv1alpha1.IPFamily `json:"ipFamilies,omitempty"`
	// Warnings are what the user is told then.
	Warnings []plugin.Warning `json:"warnings,omitempty"`
}

// Equal says whether both say the same, in whatever order an API server has
// stored the keys of the config. What the config was accepted for makes no
// difference. Either may be nil.
func (w *Written) Equal(other *Written) bool {
	if w == nil || other == nil {
		return w == other
	}
	one, err := w.content()
	two, err2 := other.content()
	return err == nil && err2 == nil && reflect.DeepEqual(one, two)
}

// content is all of it as JSON values, with numbers as they are written.
func (w *Written) content() (content any, err error) {
	without := *w
	if w.Config != nil {
		config := *w.Config
		config.Accepted = nil
		without.Config = &config
	}
	raw, err := json.Marshal(&without)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&content)
	return content, err
}

// Decode reads status.state. Nothing gives an empty State.
func Decode(raw *runtime.RawExtension) (*State, error) {
	s := &State{}
	if raw == nil || len(raw.Raw) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(raw.Raw, s); err != nil {
		return nil, fmt.Errorf("status.state is not Trellis': %w", err)
	}
	return s, nil
}

// Encode is the inverse of Decode.
func (s *State) Encode() (*runtime.RawExtension, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode status.state: %w", err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}
