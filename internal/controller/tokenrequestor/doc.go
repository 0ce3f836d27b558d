// SPDX-License-Identifier: Apache-2.0

// Package tokenrequestor gives control-plane components access to their shoot: it
// keeps a valid token of a ServiceAccount of the shoot in each Secret of the seed
// that asks for one, and makes the kubeconfig that goes with all those tokens.
// Section 3.12 of Gardener's contract is its specification.
//
// The package refuses to know who uses a token, and what for. It grants no rights:
// whoever asks for a token brings the roles for it. It cleans nothing up: a
// ServiceAccount outlives the Secret that asked for its token.
package tokenrequestor
