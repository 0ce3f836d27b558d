// SPDX-License-Identifier: Apache-2.0

// Package overlay states in the configs of Shoots what Gardener's provider extensions state there
// about overlays: the fields are the same in all of Gardener's own network types.
package overlay

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
)

// Config are the fields of a config as it is written, by name; nil if there is no config.
type Config map[string]json.RawMessage

// Defaults are what a network type has of its own.
type Defaults struct {
	// Version is that of a config where the user wrote none.
	Version schema.GroupVersion
	// Decided reports whether a new Shoot, whose config lacks overlay, states in another way how
	// packets travel, or something that needs an overlay.
	Decided func(Config) bool
	// Without is what belongs to networks without overlay, by field; nil if there is nothing.
	Without Config
}

// The fields of a NetworkConfig, and those of its overlay.
const (
	overlayField         = "overlay"
	enabledField         = "enabled"
	createPodRoutesField = "createPodRoutes"
)

// State changes the config of a Shoot that a user creates, or updates if old is not nil, on an
// infrastructure that turns overlays off. A new Shoot gets no overlay, unless Decided. An update that
// leaves overlay out keeps the former one, since to switch it interrupts traffic, but not what
// is wrong in it: a misspelt field stays out. Where the
// overlay is off, createPodRoutes, if the infrastructure wants it, and Without are stated too, unless
// the config has them; while the overlay stays off, an update keeps them as they were.
//
// State leaves a config alone that is no object.
func (d Defaults) State(old, shoot *corev1beta1.Shoot, infrastructure *plugin.Infrastructure) {
	written, isObject := configOf(shoot)
	if !isObject || !infrastructure.OverlayOff {
		return
	}
	before, _ := configOf(old)
	config, changed := Config{}, false
	maps.Copy(config, written)
	switch {
	case config[overlayField] != nil:
	case old == nil && !d.Decided(written):
		config[overlayField], changed = json.RawMessage(`{"enabled":false}`), true
	default:
		if former := valid(before[overlayField]); len(former) > 0 {
			config[overlayField], changed = encoded(former), true
		}
	}
	if overlay, isOff := off(config); isOff {
		formerly, wasOff := off(before)
		routes := Config{}
		if infrastructure.CreatePodRoutes {
			routes[createPodRoutesField] = json.RawMessage("true")
		}
		if overlay.complete(routes, formerly, wasOff) {
			config[overlayField], changed = encoded(overlay), true
		}
		changed = config.complete(d.Without, before, wasOff) || changed
	}
	if !changed {
		return
	}
	if written == nil {
		config["apiVersion"], config["kind"] = json.RawMessage(`"`+d.Version.String()+`"`), json.RawMessage(`"NetworkConfig"`)
	}
	shoot.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: encoded(config)}
}

// complete adds the values that a config lacks. If there was a config like this one, it adds what
// that one had instead.
func (c Config) complete(values, former Config, was bool) (changed bool) {
	for name, value := range values {
		if was {
			value = former[name]
		}
		if c[name] == nil && value != nil {
			c[name], changed = value, true
		}
	}
	return changed
}

// encoded is the inverse of decoding JSON, which always succeeds.
func encoded(config Config) json.RawMessage {
	raw, err := json.Marshal(config)
	utilruntime.Must(err)
	return raw
}

// off returns the fields of overlay, and whether it is switched off.
func off(config Config) (fields Config, isOff bool) {
	if config[overlayField] == nil {
		return nil, false
	}
	fields, isObject := decoded(config[overlayField])
	return fields, isObject && string(fields[enabledField]) == "false"
}

// valid returns the fields of overlay that a plugin can decode.
func valid(overlay json.RawMessage) Config {
	fields, _ := decoded(overlay)
	maps.DeleteFunc(fields, func(name string, value json.RawMessage) bool {
		isField := name == enabledField || name == createPodRoutesField
		return !isField || string(value) != "true" && string(value) != "false"
	})
	return fields
}

// decoded returns the fields of an object that have a value: a null says nothing.
func decoded(raw json.RawMessage) (fields Config, isObject bool) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil, false
	}
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	return fields, true
}

// configOf returns the config of a Shoot, which may be nil; false if it is no object.
func configOf(shoot *corev1beta1.Shoot) (config Config, isObject bool) {
	if shoot == nil || shoot.Spec.Networking == nil || shoot.Spec.Networking.ProviderConfig == nil || len(shoot.Spec.Networking.ProviderConfig.Raw) == 0 {
		return nil, true
	}
	return decoded(shoot.Spec.Networking.ProviderConfig.Raw)
}
