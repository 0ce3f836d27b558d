// SPDX-License-Identifier: Apache-2.0

// Package contract holds Trellis against Gardener's contract from the other side:
// a gardenlet writes Networks and waits for them, a resource manager like
// Gardener's applies what Trellis writes, and both go by the contract alone. All of
// it happens once with Trellis' CRDs and once with schemas such as a Gardener
// landscape has, which prune what is Trellis' own; so do the controllers' own tests, by
// make test.
//
// The names N1 to N32, C1 to C6, L1 to L4 and R1 to R28 are those of the contract's
// section 8; lines_test.go says which test drives which.
package contract
