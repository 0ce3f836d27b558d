// SPDX-License-Identifier: Apache-2.0

// Package managedresource is Trellis' own resource manager, for seeds where Gardener's
// does not run. It keeps the objects of ManagedResources applied in shoots, and reports
// in their status whether the objects are applied, healthy and rolled out.
//
// A reconciliation is a list of stages: see reconciliation and deletion in reconcile.go.
// What a run observes is remembered by fingerprint, so a run over unchanged objects
// compares metadata from a cache and sends no request.
//
// The inventory in the status is written before the first object of new content is
// applied. The process may die between any two requests: the next run finds every
// object that could exist in the inventory.
//
// The package does not know the purpose of the objects.
package managedresource
