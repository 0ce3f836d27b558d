// SPDX-License-Identifier: Apache-2.0

// Package networkstatus writes what is observed of Networks into their status: their
// conditions, and the part of the providerStatus that is about the running network. It
// is the only writer of both, since conditions are an atomic list in Gardener's CRD, of
// which no second writer can own an entry.
//
// What there is to write comes from sources (package source), each of which observes
// one aspect and owns some types of conditions and some keys of the providerStatus. A
// new condition is a new source and a line in sources.go.
//
// The package does not know what the sources observe. Everything else in a Network's
// status belongs to controller/network.
package networkstatus
