// SPDX-License-Identifier: Apache-2.0

// Package network reconciles Networks: it has the pipeline build the objects, writes them
// in bundles, waits until the resource manager has applied these, and reports that in the
// status. Gardener's contract (N1 to N37) says what callers rely on.
//
// reconcile.go has the lists of stages. docs/design.md says which file has which stage.
// The status is written in status.go and nowhere else. The controller owns lastOperation, lastError,
// observedGeneration, ipFamilies, state and, of providerStatus, everything but what is observed:
// components, rollouts, connectivityTests, networkModules and transition.
package network
