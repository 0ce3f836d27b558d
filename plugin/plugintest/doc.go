// SPDX-License-Identifier: Apache-2.0

// Package plugintest holds a plugin to what every plugin owes. The author of one
// calls Run in a test, with a few networks that the plugin must be able to make:
//
//	func TestPlugin(t *testing.T) {
//		plugintest.Run(t, mine.New(),
//			plugintest.Case{Name: "large packets", Config: "mtu: 9000"},
//			plugintest.WithAPIServer(config),
//		)
//	}
//
// Each promise is a subtest:
//
//   - determinism: the same Request gives the same bytes, any number of times, in
//     any order and from any number of goroutines. That a hook reads the environment, the
//     host or a file does not show here: see hack/check-pure.sh.
//   - purity: no hook changes the config or the input that it is given, except
//     Default, which completes the config; and no two networks share an object, or a
//     part of one, unless it is a plugin.Constant.
//   - decoding: unknown fields, fields in another letter case, fields that are there
//     twice, and values of a wrong type are refused, wherever they stand.
//   - defaults: Default is idempotent, explains where it goes against the user, and
//     what it makes can be decoded, remembered and applied again without a change; and
//     what the user does not say any more leaves nothing behind. It is explicit: Render
//     fills in nothing more, a user who states a default gets the same network, and no
//     false, 0 or empty list that means something gets lost.
//   - validation: whatever stands in a config, no hook panics (a panic is told with the
//     hook, the case and the line); errors name a field inside of the config and say what
//     to do; what is accepted can be rendered.
//   - rendering: each IP family and each mode of kube-proxy that the plugin declares
//     is served, and nothing refers to what is not there, but for what WithMissing
//     justifies.
//   - api-server: a real API server accepts every object, to the last field. It needs
//     WithAPIServer, and is skipped without.
//   - workloads: pods run where and when a cluster of Gardener's needs them. Those of
//     agents are replaced on as many nodes at a time as Input.MaxUnavailable states, also
//     when a ConfigMap changes that they read, unless WithWatched declares that they
//     notice the change by themselves.
//   - images: each has a tag or a digest that is no moving target.
//   - rights: no role has a wildcard, and no binding gives all rights, unless
//     WithWildcard justifies it.
//   - changes: there is a class, and a reason, for a change of every field, and for one
//     of each plugin.Fact that restarts agents; and the Changes of the Description are
//     exactly those that Classify gives.
//   - adaptation: a Mutator takes whatever is written in a shoot, tells truly whether
//     it has changed it, and changes nothing the second time.
//   - readme: README.md names every field, its default, which is in force somewhere, and
//     the class of its change, and no field that there is not; its examples are valid.
//
// The package goes by the type of the plugin's config: a field that is new in the
// type is held to all of this from then on. It knows no plugin, and it does not judge
// whether pods can talk: that takes nodes.
package plugintest
