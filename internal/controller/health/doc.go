// SPDX-License-Identifier: Apache-2.0

// Package health says of each Network whether what it consists of runs: one
// boolean for each component, and the condition SystemComponentsHealthy in
// Gardener's format with the reason in one sentence. It observes workloads in
// the shoot, and writes nothing but these fields of the Network's status.
//
// It refuses to know which components a network has (the Network's state lists
// them), how they came into the shoot, and whether pods can really talk: that is
// measured from inside.
package health
