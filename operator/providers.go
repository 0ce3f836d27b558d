// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trellis-network/trellis/plugin"
)

// ControllerProvider is a plugin.Provider with controllers of its own for the Infrastructures and
// ControlPlanes of its type. Infrastructures of other types need controllers of others.
type ControllerProvider interface {
	plugin.Provider
	// AddControllers adds the controllers to the manager of a standalone operator, whose
	// configuration lists the type in infrastructures. They leave objects of other types alone.
	AddControllers(mgr ctrl.Manager) error
}

// addProviders adds the controllers of the providers that the configuration lists.
func (o *Options) addProviders(mgr ctrl.Manager) error {
	var errs []error
	for _, provider := range o.Providers {
		if own, is := provider.(ControllerProvider); is && slices.Contains(o.Config.Infrastructures, provider.Type()) {
			errs = append(errs, own.AddControllers(mgr))
		}
	}
	return errors.Join(errs...)
}
