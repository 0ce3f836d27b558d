// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line trellis. It validates manifests, renders the objects
// of a network, and shows what a change does, with the same pipeline as the operator. It
// reads a cluster only for plan --live, and never writes to one. The author of an operator
// with other plugins calls Run to get a command line for them.
//
// It knows no plugin and no infrastructure by name.
package cli
