// SPDX-License-Identifier: Apache-2.0

// Package system has what the objects of every pod network in a shoot have in common,
// because Gardener or the cluster's administrators rely on it: labels and annotations,
// priorities and tolerations, identities and rights, autoscaling, and how a Prometheus in
// the seed finds the components.
//
// It is for plugins to build their objects with. It refuses to know any network, and
// decides nothing: the plugin decides whether a component is there, and with which
// rights.
package system
