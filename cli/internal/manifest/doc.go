// SPDX-License-Identifier: Apache-2.0

// Package manifest reads what people write: streams of YAML or JSON documents
// that hold Networks, Shoots and Clusters. It finds out which of them belong
// together, and says where in which document something is wrong.
//
// It bears any input: of a fixed size at most, nested or aliased in whatever
// way, text or not.
//
// It refuses to know what a network's configuration means, and what anybody
// wants to do with it.
package manifest
