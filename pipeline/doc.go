// SPDX-License-Identifier: Apache-2.0

// Package pipeline turns a Request, with the wanted network and the known facts, into a
// Result: the effective config with its origins, errors and warnings, changes, and the
// objects of the network. The command line and the operator both call Build, so that
// they agree.
//
// Build is pure: no client, no clock, no randomness, no global state. The same
// Request gives the same Result, to the byte. It may be called from any number
// of goroutines.
//
// The package knows no plugin and no infrastructure by name, and does not know how objects
// get into a cluster.
package pipeline
