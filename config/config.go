// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests that an operator of Trellis installs in a
// seed. All but the policies, for seeds without Gardener, are generated from the
// Go types and markers: `make generate`.
package config

import "embed"

// Manifests has crd/*.yaml, rbac/*.yaml, the rights of the operator, and
// policy/*.yaml, with one object a file.
//
//go:embed crd/*.yaml rbac/*.yaml policy/*.yaml
var Manifests embed.FS
