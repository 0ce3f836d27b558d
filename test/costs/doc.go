// SPDX-License-Identifier: Apache-2.0

// Package costs measures what the operator costs: time, CPU, requests and memory, of itself, the
// API servers and etcd. It runs the operator as a process of its own, and beside it, on the same API
// servers in the same run, a raw client that makes the same writes and nothing else. That client is
// as fast as the API server allows, so the ratio of both says what the operator costs, whatever else
// the machine does. `make bench` prints the tables; docs/scale.md explains them.
package costs
