// SPDX-License-Identifier: Apache-2.0

// Package resourcemanager does with ManagedResources what Gardener's resource
// manager does, as far as a network's objects need it: whole objects are PUT,
// labels and annotations are merged three ways by what the status remembers, all
// obsolete objects are deleted before anything is applied, and the status is PUT
// at the end of a pass (docs/gardener-contract.md).
//
// It is for tests of what Trellis writes, and of what Trellis makes of objects that
// were applied this way. Like the gardenlet beside it, it goes by the contract's
// names and refuses to know Trellis' API types. It judges no object's health: what
// is applied counts as healthy.
package resourcemanager
