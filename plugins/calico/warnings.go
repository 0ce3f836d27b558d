// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico/v1alpha1"
)

// warnNotInForce warns of every value that the user wrote and that something else
// goes before. Why is asked of the defaults themselves, so that no rule can
// forget its warning.
func warnNotInForce(found *plugin.Findings, effective, written *v1alpha1.NetworkConfig, facts *plugin.Facts, path *field.Path) {
	wrote := leavesOf(written)
	if len(wrote) == 0 {
		return
	}
	inForce := leavesOf(effective)
	var reasons map[string]plugin.Origin
	for _, name := range sortedKeys(wrote) {
		value, has := inForce[name]
		if wrote[name] == "" || has && value == wrote[name] {
			continue
		}
		message := fmt.Sprintf("%v has no effect", wrote[name])
		if has {
			message = fmt.Sprintf("%v is not in force, %v is", wrote[name], value)
		}
		if reasons == nil {
			reasons = reasonsFor(written, facts)
		}
		if origin, ok := nearest(reasons, name); ok {
			message += ": " + origin.Reason
		}
		found.Warn(at(path, name), message)
	}
}

func reasonsFor(written *v1alpha1.NetworkConfig, facts *plugin.Facts) map[string]plugin.Origin {
	var because plugin.Origins
	setDefaults(written.DeepCopy(), facts, &because)
	return because.ByPath()
}

// at is the path of a dotted field beneath root.
func at(root *field.Path, dotted string) *field.Path {
	for _, name := range strings.Split(dotted, ".") {
		root = root.Child(name)
	}
	return root
}
