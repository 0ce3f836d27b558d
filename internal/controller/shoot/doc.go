// SPDX-License-Identifier: Apache-2.0

// Package shoot carries out Shoots where no gardenlet does: in standalone mode.
// For a user's Shoot it brings about what the controllers of a seed work with:
// the control-plane namespace, the Cluster, access to the shoot's API server, the
// prerequisites that Gardener's system components would bring, and the Network.
// It carries the outcome back into the Shoot's status, and takes everything away
// again in the reverse order.
//
// It refuses to know what a providerConfig means, what is in a Network's state but
// for the generation of the Shoot that it is about, and anything of the shoot
// behind its kubeconfig: it never talks to a shoot.
package shoot
