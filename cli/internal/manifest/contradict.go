// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Contradictions returns where a Network and its Shoot have different values, and which
// value counts. In a cluster the Network is derived from the Shoot, so one of them is
// probably old, or belongs to another cluster. A different providerConfig is no
// contradiction, since a webhook may have changed it.
func (s *Subject) Contradictions() []plugin.Warning {
	if s.Shoot == nil || s.Author != pipeline.AuthorNetwork {
		return nil
	}
	var found []plugin.Warning
	warn := func(path *field.Path, format string, args ...any) {
		found = append(found, plugin.Warning{Field: path.String(), Message: fmt.Sprintf(format, args...)})
	}
	spec := field.NewPath("spec")
	differ := func(name, network, shoot, counts string) {
		if network != "" && shoot != "" && network != shoot {
			warn(spec.Child(name), "is %s, but the Shoot has %s; the %s counts", fielderror.Abbreviate(network), fielderror.Abbreviate(shoot), counts)
		}
	}
	network, shoot := &s.Network.Spec, s.Shoot.Spec.Networking
	if shoot == nil {
		shoot = &corev1beta1.Networking{}
	}
	differ("type", network.Type, valueOf(shoot.Type), "Network")
	differ("podCIDR", network.EffectivePodCIDR(), valueOf(shoot.Pods), "Network")
	differ("serviceCIDR", network.ServiceCIDR, valueOf(shoot.Services), "Network")
	differ("ipFamilies", listOf(network.IPFamilies), listOf(shoot.IPFamilies), "Network")
	differ("cloudProvider", network.CloudProvider, s.Shoot.Spec.Provider.Type, "Shoot")
	if len(s.Shoot.Spec.Provider.Workers) == 0 {
		warn(field.NewPath("shoot", "spec", "provider", "workers"), "is empty, and a Shoot without workers has no pod network")
	}
	return found
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func listOf[T ~string](list []T) string {
	var names []string
	for _, each := range list {
		names = append(names, string(each))
	}
	return strings.Join(names, ", ")
}
