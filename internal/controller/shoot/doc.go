// SPDX-License-Identifier: Apache-2.0

// Package shoot reconciles Shoots in standalone mode, where no gardenlet does. For a
// user's Shoot it creates what the controllers of a seed work with: the control-plane
// namespace, the Cluster, the Secret with the kubeconfig, the prerequisites that
// Gardener's system components would install, and the Network. It reports their state in
// the Shoot's status, and deletes them in reverse order.
//
// The package does not know what a providerConfig means, and of a Network's state only
// the generation of the Shoot. It never connects to a shoot.
package shoot
