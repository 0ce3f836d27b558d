// SPDX-License-Identifier: Apache-2.0

// Package managedresource carries out ManagedResources: it keeps the objects
// that their Secrets hold in the shoot just as they are stated, and says in their
// status whether they are applied, healthy and rolled out. It is Trellis' own
// resource manager, for seeds where Gardener's does not run; sections 3.2 to 3.10
// of Gardener's contract are its specification.
//
// One reconciliation is one pass: read and decode the Secrets, delete what is no
// longer wanted, apply what is missing or differs, judge health. What a pass saw
// is remembered by fingerprint, so that a pass over unchanged objects compares
// metadata from a cache and sends no request at all.
//
// The inventory in the status is written before the first object of new content
// is applied. The process may die between any two requests: the next pass finds
// in the inventory every object that could exist.
//
// The package refuses to know what the objects are for, and who wrote them.
package managedresource
