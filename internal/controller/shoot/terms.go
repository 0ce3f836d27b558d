// SPDX-License-Identifier: Apache-2.0

package shoot

import "regexp"

// networkPath matches a field path of a Network's spec, but not the end of a
// longer path. A path that begins a sentence may have got a capital letter.
var networkPath = regexp.MustCompile(`(^|[^.\w])[Ss]pec\.(type|providerConfig|podCIDR|serviceCIDR|ipFamilies)\b`)

// shootPath matches a path in the Shoot as errors about a Network give it.
var shootPath = regexp.MustCompile(`\bshoot\.spec\.`)

// shootFields are the fields of spec.networking which a Network's spec is made of.
var shootFields = map[string]string{
	"type":           "type",
	"providerConfig": "providerConfig",
	"podCIDR":        "pods",
	"serviceCIDR":    "services",
	"ipFamilies":     "ipFamilies",
}

// inShootTerms translates the field paths in a text about a Network into those of
// the Shoot that its author wrote.
func inShootTerms(text string) string {
	text = networkPath.ReplaceAllStringFunc(text, func(match string) string {
		parts := networkPath.FindStringSubmatch(match)
		return parts[1] + "spec.networking." + shootFields[parts[2]]
	})
	return shootPath.ReplaceAllString(text, "spec.")
}
