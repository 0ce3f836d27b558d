// SPDX-License-Identifier: Apache-2.0

// Package garbagecollector deletes immutable Secrets and ConfigMaps that nothing
// refers to any more. Whoever writes such an object gives it a name with a hash of
// its content, so that each change leaves one behind; section 3.11 of Gardener's
// contract says how they are marked and how references to them are.
//
// Only objects with the mark are ever deleted, only if all that could refer to them
// was seen, and only after nothing did for some time. Gardener's collector counts that
// time from their creation, and so takes what is old when it is about to be referred to
// again: content that comes back, or what a process has made that then was away.
//
// The package refuses to know what the objects hold, and who wrote them.
package garbagecollector
