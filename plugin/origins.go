// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"maps"
)

// Source is where a value of the effective config comes from.
type Source string

const (
	// FromUser values were written by the user.
	FromUser Source = "user"
	// FromDefault values are the plugin's.
	FromDefault Source = "default"
	// FromInfrastructure values follow from what the infrastructure allows.
	FromInfrastructure Source = "infrastructure"
	// FromRule values follow from other values.
	FromRule Source = "rule"
	// FromApplied values were defaults when the network was first applied and are
	// kept, although the default is another one today.
	FromApplied Source = "applied"
)

// Origin is where a value comes from, and why.
type Origin struct {
	Source Source `json:"source"`
	// Reason is a short phrase; empty for the user's values and plain defaults.
	Reason string `json:"reason,omitempty"`
}

// String returns the origin for users: "infrastructure: local has no IP-in-IP".
func (o Origin) String() string {
	if o.Reason == "" {
		return string(o.Source)
	}
	return string(o.Source) + ": " + o.Reason
}

// Origins collects, while defaults are made, why values are what they are. Paths
// are fields of the config in JSON spelling, for example ipam.type.
type Origins struct{ byPath map[string]Origin }

// Infrastructure notes that the value at path follows from the infrastructure.
func (o *Origins) Infrastructure(path, reason string) {
	o.note(path, Origin{FromInfrastructure, reason})
}

// Rule notes that the value at path follows from other values.
func (o *Origins) Rule(path, reason string) { o.note(path, Origin{FromRule, reason}) }

// ByPath returns a copy of what was noted.
func (o *Origins) ByPath() map[string]Origin { return maps.Clone(o.byPath) }

func (o *Origins) note(path string, origin Origin) {
	if o.byPath == nil {
		o.byPath = map[string]Origin{}
	}
	o.byPath[path] = origin
}
