// SPDX-License-Identifier: Apache-2.0

// Package certificates makes the certificates by which API servers know the operator's
// webhook server, keeps them in a Secret that all replicas share, and replaces them
// before they expire.
//
// Whoever calls is told of an authority long before it signs what is served, and for as
// long as anything it has signed may be served: clients need time to be told.
//
// It refuses to know who calls, and how they are told.
package certificates
