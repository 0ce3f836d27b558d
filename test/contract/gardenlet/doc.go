// SPDX-License-Identifier: Apache-2.0

// Package gardenlet plays Gardener's gardenlet towards one Network: what it
// writes, in which order it looks at what comes back, and when it loses its
// patience (Gardener contract, C1 to C4).
//
// It reads and writes what is on the wire, by the contract's own names, and
// refuses to know Trellis' API types: a field that these misspell is one that
// this gardenlet does not find.
package gardenlet
