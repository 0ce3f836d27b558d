// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MaxUnavailableAnnotation on a Network, or on its Shoot, is on how many nodes the
// network's agents may be missing during a roll-out, a whole number. It goes before
// what follows from the number of nodes, and is looked at when the Network is
// reconciled.
const MaxUnavailableAnnotation = "trellis.network/max-unavailable"

// APIServerAnnotation on a Cluster is the address, host:port, at which the
// shoot's pods reach their API server before Services work. It is only there
// without Gardener, whose webhooks tell the pods otherwise.
const APIServerAnnotation = "trellis.network/api-server"
