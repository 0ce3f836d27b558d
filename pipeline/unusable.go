// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unusable are ranges of which no pod, Service or node can have an address (RFC 6890).
var unusable = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "whose packets never leave a node"},
	{netip.MustParsePrefix("169.254.0.0/16"), "whose packets no router forwards"},
	{netip.MustParsePrefix("224.0.0.0/4"), "whose addresses are groups of receivers"},
	{netip.MustParsePrefix("::1/128"), "whose packets never leave a node"},
	{netip.MustParsePrefix("fe80::/10"), "whose packets no router forwards"},
	{netip.MustParsePrefix("ff00::/8"), "whose addresses are groups of receivers"},
}

// checkUsable checks that the addresses of the ranges that the user states can be used. It refuses
// a cluster that is not made yet, and warns of one that exists.
func (a *addresses) checkUsable(stated ...addressRange) {
	for _, one := range stated {
		for _, other := range unusable {
			if one.prefix.Overlaps(other.prefix) {
				a.refuseOrWarn(field.Invalid(one.path, one.prefix.String(),
					fmt.Sprintf("overlaps with %s, %s; give a new cluster another range", other.prefix, other.why)))
			}
		}
	}
}
