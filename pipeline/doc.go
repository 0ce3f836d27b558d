// SPDX-License-Identifier: Apache-2.0

// Package pipeline turns a Request, what is wanted and what is known, into a
// Result: what is in force and why, what is wrong, what changes, and the objects
// of the network. Command line, operator and admission all call Build, so that
// they say and do the same.
//
// Build is pure: no client, no clock, no randomness, no global state. The same
// Request gives the same Result, to the byte. It may be called from any number
// of goroutines.
//
// The package refuses to know any plugin or infrastructure by name, and how
// objects get into a cluster.
package pipeline
