// SPDX-License-Identifier: Apache-2.0

// Package plugin is the interface between Trellis and a network plugin: what the
// author of a plugin imports, and all that they need to know.
//
// An author writes a Definition for their config type and registers it with
// one line, plugin.New(theirs), in a list of plugins. Trellis decodes the
// config, asks the Definition for defaults, findings, changes and objects, and
// does the rest: applying, status, migrations.
//
// A Definition is pure. It gets a config and Facts and returns values; it has
// no client, clock, randomness or global state, and it keeps nothing between
// calls. Given the same input it returns the same output, from any number of
// goroutines.
//
// The package refuses to know any plugin or infrastructure by name.
package plugin
