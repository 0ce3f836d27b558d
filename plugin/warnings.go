// SPDX-License-Identifier: Apache-2.0

package plugin

import "k8s.io/apimachinery/pkg/util/validation/field"

// Warner warns of values that are all in force and together do not do what users expect.
type Warner struct {
	Found *Findings
	// Path of the config.
	Path *field.Path
}

// WarnIf warns at a field, for example overlay.enabled, if the warning applies. The message
// has what happens instead, and what to write.
func (w Warner) WarnIf(applies bool, at, message string) {
	if applies {
		w.Found.Warn(At(w.Path, at), message)
	}
}
