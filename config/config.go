// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests that an operator of Trellis installs in a
// seed. They are generated from the Go types and markers: `make generate`.
package config

import "embed"

// Manifests has crd/*.yaml, one CRD a file, and rbac/*.yaml, the rights of the
// operator.
//
//go:embed crd/*.yaml rbac/*.yaml
var Manifests embed.FS
