// SPDX-License-Identifier: Apache-2.0

// Package shootclient gives controllers access to shoots, by the namespace of
// their control plane in the seed: a client, a cache of what Trellis manages
// there, and events when any of it changes.
//
// Access to a shoot comes from the kubeconfig in the Secret "gardener" of the
// control-plane namespace, or in "gardener-internal" where that is preferred and there,
// and lasts as long as that Secret stays as it is: a client never outlives its
// kubeconfig. Each shoot has its own rate limit,
// connections and watches, and everything that waits for a shoot waits for a
// bounded time, so that one which does not answer delays nobody else.
//
// Seed gives the seed itself in the same form, for objects that belong there.
//
// The package refuses to know what the objects in a shoot are for, and which
// controller manages them.
package shootclient
