// SPDX-License-Identifier: Apache-2.0

// Package bench measures how long Trellis takes from a network's Request to the content
// of its Secret, and how long Helm takes to render a chart of the same objects.
// `make bench` prints both.
package bench_test
