// SPDX-License-Identifier: Apache-2.0

// Package harness is for tests against real API servers. It has clusters with Trellis' CRDs,
// namespaces, a manager for controllers, a record of the requests that controllers send, and
// functions that write objects as other actors would.
//
//	var landscape = harness.Seed()
//
//	func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		seed := landscape.Seed(t)
//		namespace := seed.Namespace(t, "example-")
//		seed.Run(t, []string{namespace}, &harness.Requests{}, func(mgr manager.Manager) error { … })
//	}
package harness
