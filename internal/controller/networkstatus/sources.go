// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"cmp"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/components"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/connectivity"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/steps"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/update"
)

// sources is the table of who owns what in a Network's status. A condition type or a
// key of the providerStatus that is not in it belongs to another writer, and stays as
// it is. A test holds that no part has two owners.
func (o *Options) sources() []source.Registration {
	return []source.Registration{{
		Name: "components",
		Source: &components.Source{
			Period: o.Period, ProgressingThreshold: o.ProgressingThreshold, PageSize: cmp.Or(o.PageSize, 50),
		},
		Conditions:     []string{components.ConditionType},
		ProviderStatus: []string{components.StatusKey, components.RolloutsKey},
		Watches:        components.Watches(),
	}, {
		Name:           "connectivity",
		Source:         &connectivity.Source{},
		Conditions:     []string{extensionsv1alpha1.PodNetworkAvailable},
		ProviderStatus: []string{connectivity.TestsKey, connectivity.ModulesKey},
		Watches:        connectivity.Watches(),
	}, {
		Name:       "update",
		Source:     update.Source{},
		Conditions: []string{extensionsv1alpha1.NetworkUpToDate},
	}, {
		Name:           "steps",
		Source:         &steps.Source{},
		Conditions:     []string{extensionsv1alpha1.TransitionProgressing},
		ProviderStatus: []string{steps.StatusKey},
		Watches:        components.Watches(),
	}}
}
