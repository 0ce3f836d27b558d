// SPDX-License-Identifier: Apache-2.0

// Package harness is what tests against real API servers have in common: clusters with
// what an operator finds there, namespaces, a manager with controllers, a record of the
// requests that they send, and the objects that others would write.
//
//	var landscape = harness.Seed()
//
//	func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		seed := landscape.Seed(t)
//		namespace := seed.Namespace(t)
//		seed.Run(t, namespace, &harness.Requests{}, func(mgr manager.Manager) error { … })
//	}
package harness
