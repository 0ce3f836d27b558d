// SPDX-License-Identifier: Apache-2.0

// Package shootclient gives controllers access to shoots, by the namespace of their
// control plane in the seed: a client, a cache of what the controllers declare (see Watch),
// and events when it changes.
//
// The kubeconfig is in the Secret "gardener" of the control-plane namespace, or in
// "gardener-internal" if that is preferred and exists. A client never outlives the content
// of its Secret. Each shoot has its own rate limit, connections and watches, and every wait
// for a shoot is bounded, so a shoot that does not answer does not delay the others.
//
// Seed gives the seed itself in the same form, for objects that belong there.
//
// The package does not know what the objects in a shoot are for, or which controller
// manages them.
package shootclient
