// SPDX-License-Identifier: Apache-2.0

// Package bench measures how long a network takes from its Request to the content
// of its Secret, and how long Helm takes to render a chart of the same objects.
// `make bench` prints both side by side.
package bench_test
