// SPDX-License-Identifier: Apache-2.0

package networkstatus

import (
	"fmt"

	"github.com/trellis-network/trellis/internal/controller/networkstatus/components"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
)

// sources is the table of who owns what in a Network's status. A condition type or a
// key of the providerStatus that is not in it belongs to another writer, and stays as
// it is.
func (o *Options) sources() []source.Registration {
	return []source.Registration{{
		Name: "components",
		Source: components.New(components.Options{
			Period: o.Period, ProgressingThreshold: o.ProgressingThreshold, PageSize: o.PageSize,
		}),
		Conditions:     []string{components.ConditionType},
		ProviderStatus: []string{components.StatusKey},
		Watches:        components.Watches(),
	}}
}

// checkOwners returns an error if two sources own the same part of the status.
func checkOwners(sources []source.Registration) error {
	owners := map[string]string{}
	for _, s := range sources {
		var parts []string
		for _, conditionType := range s.Conditions {
			parts = append(parts, "the condition "+conditionType)
		}
		for _, key := range s.ProviderStatus {
			parts = append(parts, "providerStatus."+key)
		}
		for _, part := range parts {
			if other, taken := owners[part]; taken {
				return fmt.Errorf("the sources %s and %s both own %s", other, s.Name, part)
			}
			owners[part] = s.Name
		}
	}
	return nil
}
