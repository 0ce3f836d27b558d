// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trellis-network/trellis/internal/controller/route"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// addPodRoutes adds the controller that makes routes, if the configuration lists an infrastructure for
// it. The options have what only the mode decides about.
func (o *Options) addPodRoutes(mgr ctrl.Manager, shoots *shootclient.Clients, board *route.Board, options route.Options) error {
	infrastructures, err := o.podRoutes()
	if err != nil || len(infrastructures) == 0 {
		return err
	}
	settings := &o.Config.Controllers.PodRoutes
	options.Infrastructures, options.Shoots, options.Board, options.Secrets = infrastructures, shoots, board, mgr.GetAPIReader()
	options.Clock, options.Period, options.MaxConcurrentReconciles = o.Clock, settings.SyncPeriod.Duration, settings.ConcurrentSyncs
	if o.fence != nil {
		options.Wrap = func(next http.RoundTripper) http.RoundTripper { return o.fence.wrap(next) }
	}
	return route.Add(mgr, options)
}

// podRoutes returns the infrastructures that the configuration lists, by type.
func (o *Options) podRoutes() (map[string]route.Infrastructure, error) {
	known := map[string]route.Infrastructure{}
	var types []string
	for _, provider := range o.PodRoutes {
		known[provider.Type()] = route.Infrastructure{Provider: provider}
		types = append(types, provider.Type())
	}
	slices.Sort(types)
	listed := map[string]route.Infrastructure{}
	for i, each := range o.Config.PodRoutes {
		infrastructure, supported := known[each.Provider]
		if !supported {
			return nil, fmt.Errorf("the configuration is invalid: %w",
				field.NotSupported(field.NewPath("podRoutes").Index(i).Child("provider"), each.Provider, types))
		}
		infrastructure.Limit = each.MaxRoutesPerTable
		listed[each.Provider] = infrastructure
	}
	return listed, nil
}
