// SPDX-License-Identifier: Apache-2.0

// Package built is what tests of plugins ask of a Build: a Request in a few words, and
// what came of it.
//
//	var networks = built.By[*network]{New: myplugin.New, As: func(n *built.Network) *network { return &network{n} }}
//
//	networks.Build(t, "overlay: {enabled: true}", built.DualStack).Warned("overlay.enabled")
//
// It knows the pipeline, the plugin interface, and kinds that any plugin may bring, but no plugin:
// which objects there are, what they are called, and what is right for them is for the
// tests beside each.
package built
