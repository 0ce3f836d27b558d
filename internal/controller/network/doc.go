// SPDX-License-Identifier: Apache-2.0

// Package network carries out Networks: it has the pipeline build the objects,
// writes them as a bundle for the shoot, observes until they are applied, and
// says so in the status. Section 2 of Gardener's contract is what its callers
// rely on; N1 to N32 in section 8 are its behaviours.
//
// It writes lastOperation, lastError, observedGeneration, ipFamilies, state and,
// of providerStatus, everything but components. It refuses to know how objects
// get into a shoot, whether they are healthy, and any plugin by name.
package network
