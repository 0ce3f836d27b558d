// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"slices"

	"github.com/trellis-network/trellis/plugin"
)

// Value is a value that is in force, and where it comes from.
type Value struct {
	// Path is the field of the config, for example overlay.enabled.
	Path   string
	Value  any
	Origin plugin.Origin
}

// Values are all values of the effective config, sorted by path; none if Build
// found errors before it had defaults.
func (r *Result) Values() ([]Value, error) {
	if len(r.Config) == 0 {
		return nil, nil
	}
	inForce, err := flattenJSON(r.Config)
	if err != nil {
		return nil, err
	}
	list := make([]Value, 0, len(inForce))
	for _, path := range slices.Sorted(maps.Keys(inForce)) {
		list = append(list, Value{path, inForce[path], r.Origins[path]})
	}
	return list, nil
}
