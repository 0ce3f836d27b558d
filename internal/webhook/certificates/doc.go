// SPDX-License-Identifier: Apache-2.0

// Package certificates creates the certificates of the operator's webhook server, keeps
// them in a Secret that all replicas share, and replaces them before they expire.
//
// The bundle contains an authority long before it signs a serving certificate, and as long
// as such a certificate may be in use, since clients get the bundle with a delay. The
// package does not know how.
package certificates
