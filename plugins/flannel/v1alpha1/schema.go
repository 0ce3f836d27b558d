// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import _ "embed"

// Schema is the JSON schema of NetworkConfig, as `make generate` makes it of the
// type. It must not be changed.
//
//go:embed zz_generated.networkconfig.schema.json
var Schema []byte
