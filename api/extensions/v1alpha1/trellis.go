// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxUnavailableAnnotation on a Network, or on its Shoot, is on how many nodes the
// network's agents may be missing during a roll-out, a whole number. It takes precedence
// over what follows from the number of nodes. Trellis reads it when it reconciles the
// Network.
const MaxUnavailableAnnotation = "trellis.network/max-unavailable"

// APIServerAnnotation on a Cluster is the address, host:port, at which the
// shoot's pods reach their API server before Services work. It is only there
// without Gardener, whose webhooks tell the pods otherwise.
const APIServerAnnotation = "trellis.network/api-server"

// NetworkLabel on a ManagedResource names the Network whose objects it carries.
const NetworkLabel = "trellis.network/network"

// NetworkLabelValue returns the value of NetworkLabel for a Network: its name, or the
// beginning of that and a hash where it is longer than a label's value may be.
func NetworkLabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return name[:validation.LabelValueMaxLength-len(hash)-1] + "-" + hash
}
