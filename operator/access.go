// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"os"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// shootClientVariable is the environment variable with which Gardener makes extensions
// connect to shoots from outside of the seed (Gardener contract, S1).
const shootClientVariable = "GARDENER_SHOOT_CLIENT"

// accessSecrets returns the names of the Secrets with kubeconfigs of shoots, the preferred
// one first. In a landscape the API servers of shoots run in the seed.
func accessSecrets(mode configv1alpha1.Mode) []string {
	if mode == configv1alpha1.ModeGardener && os.Getenv(shootClientVariable) != "external" {
		return []string{shootclient.InternalSecretName, shootclient.SecretName}
	}
	return []string{shootclient.SecretName}
}
