// SPDX-License-Identifier: Apache-2.0

// Package plugintest tests what every plugin must fulfil. The author of a plugin calls Run
// in a test, with a few networks that the plugin must be able to make:
//
//	func TestPlugin(t *testing.T) {
//		plugintest.Run(t, mine.New(),
//			plugintest.Case{Name: "large packets", Config: "mtu: 9000"},
//			plugintest.WithAPIServer(config),
//		)
//	}
//
// Each check is a subtest:
//
//   - determinism: the same Request gives the same bytes, any number of times, in any order
//     and from any number of goroutines. That no hook reads the environment, the host or a
//     file, hack/check-pure.sh checks.
//   - purity: no hook changes the config or the input that it gets, except Default, which
//     completes the config; and no two networks share an object, or a part of one, unless
//     it is a plugin.Constant.
//   - decoding: unknown and duplicate fields, fields in another letter case, and values of
//     a wrong type are refused, at every level.
//   - defaults: Default is idempotent, explains where it replaces what the user wrote, and
//     its result can be decoded, remembered and applied again without a change. A value
//     that the user removes leaves nothing behind. All defaults are in Default: Render
//     fills in nothing more, a user who states a default gets the same network, and no
//     false, 0 or empty list that means something gets lost.
//   - validation: no config makes a hook panic; errors name a field of the config and what
//     is allowed; accepted configs can be rendered.
//   - rendering: each IP family and each mode of kube-proxy that the plugin declares is
//     served, and references are to objects of the network, unless WithMissing is given.
//   - api-server: a real API server, that of WithAPIServer, accepts every object and each of
//     its fields.
//   - workloads: pods run where and when a cluster of Gardener's needs them. Those of
//     agents are replaced on as many nodes at a time as Input.MaxUnavailable states, also
//     when a ConfigMap changes that they read, unless WithWatched is given.
//   - images: each has a digest, or a tag other than latest.
//   - rights: no role has a wildcard, and no binding gives all rights, unless WithWildcard
//     is given.
//   - changes: there is a class, and a reason, for a change of every field, and for one
//     of each plugin.Fact that restarts agents; and the Changes of the Description are
//     exactly those that Classify gives.
//   - transitions: each step of a Transitioner is valid by the plugin's own rules and not
//     disruptive by its own classes after the one before it, and so are the steps back;
//     from each step on, the steps that are left stay the same.
//   - exchanges: what an Exchanger says stands in the way of another type names a field; what its
//     agents leave behind can be taken away by a script, with one of the plugin's images; and one
//     of the cases at least can take the place of a network of another type. What a NativeRouter
//     makes of a config is valid, and less stands in its way.
//   - routes: what a DataPathDescriber advises where the infrastructure makes no routes is a
//     field of the config, and leads to a network without errors, also if it runs already.
//   - adaptation: a Mutator takes every object, reports truthfully whether it has changed
//     it, and changes nothing the second time.
//   - shoots: what a ShootDefaulter states in a new Shoot is accepted, does not replace what
//     users state unless a warning says so, and is stated once; of a Shoot that exists it
//     changes nothing but to keep what an update leaves out.
//   - readme: README.md names every field, its default, which is in force somewhere, and
//     the class of its change, and no other field; its examples are valid.
//
// A new field of the config's type is checked without a change of the test. The package
// knows no plugin, and does not check whether pods can talk: that takes nodes.
package plugintest
