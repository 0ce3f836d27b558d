// SPDX-License-Identifier: Apache-2.0

// Package config has the manifests that an administrator installs in a seed. The CRDs and
// policies are for seeds without Gardener. `make generate` generates the CRDs and the
// operator's rights from Go types and markers.
package config

import "embed"

// Manifests has crd/*.yaml, policy/*.yaml, and the operator's rights in rbac/*.yaml. Each
// file has one object.
//
//go:embed crd/*.yaml rbac/*.yaml policy/*.yaml
var Manifests embed.FS
