// SPDX-License-Identifier: Apache-2.0

// Package manifest reads streams of YAML or JSON documents with Networks, Shoots and
// Clusters. It matches Networks with their Shoots, and reports each problem with its place.
//
// It accepts any input: it limits the size, the nesting, and the growth by aliases. It does
// not interpret the configuration of a network.
package manifest
