// SPDX-License-Identifier: Apache-2.0

// Package config has the manifests that an administrator installs in a seed. The CRDs and
// policies are for seeds without Gardener. `make generate` generates the CRDs from Go types, and
// the rules of roles from markers in the code that needs them. test/installed and test/admission compare these with requests.
package config

import "embed"

// Manifests has crd/*.yaml, policy/*.yaml, and the operator's rights in rbac/gardener/*.yaml and
// rbac/standalone/*.yaml, which are for one mode each, and in other folders of rbac, which only some
// configurations need. Those of trellis-admission are in rbac/admission/*.yaml. Each file has one
// object.
//
//go:embed crd/*.yaml rbac/*/*.yaml policy/*.yaml
var Manifests embed.FS
