// SPDX-License-Identifier: Apache-2.0

package shoot

import "regexp"

// networkPath matches a field path of a Network's spec, but not the end of a longer path.
// A path at the beginning of a sentence may have a capital letter.
var networkPath = regexp.MustCompile(`(^|[^.\w])[Ss]pec\.(type|providerConfig|podCIDR|serviceCIDR|ipFamilies)\b`)

// shootPath matches a field path of the Shoot in an error about a Network.
var shootPath = regexp.MustCompile(`\bshoot\.spec\.`)

// shootFields are the fields of spec.networking from which a Network's spec is made.
var shootFields = map[string]string{
	"type":           "type",
	"providerConfig": "providerConfig",
	"podCIDR":        "pods",
	"serviceCIDR":    "services",
	"ipFamilies":     "ipFamilies",
}

// withShootPaths replaces the field paths in a text about a Network by those of the
// Shoot, which is what the user wrote.
func withShootPaths(text string) string {
	text = networkPath.ReplaceAllStringFunc(text, func(match string) string {
		parts := networkPath.FindStringSubmatch(match)
		return parts[1] + "spec.networking." + shootFields[parts[2]]
	})
	return shootPath.ReplaceAllString(text, "spec.")
}
