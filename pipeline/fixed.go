// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/fielderror"
)

// RefuseFixed adds to a Result's errors those changes that no running network can make, even if
// its plugin allows them: of its type, of its ranges, and of the prefix length of each node's range
// of pods. before is what runs, and request is what the Result is of. A range that the Shoot's status
// does not list, unlike the wanted one, is not what runs, and may be corrected (Gardener's contract).
// So may a length with which no node got a range, and the type where the nodes may change one after the other. RefuseFixed returns the refused fields with their
// present values: "spec.podCIDR: 10.1.0.0/16".
func (r *Result) RefuseFixed(before *Accepted, request *Request) (keep []string) {
	paths, was, is := pathsOf(request), &before.Spec, &request.Spec
	maskWas, maskIs := nodeMask(&before.Facts), nodeMask(&request.Facts)
	for _, each := range []struct {
		path                   *field.Path
		before, after, because string
		allowed                bool
	}{
		{paths.networkType, was.Type, is.Type, "the network plugin has set up the interfaces of the running pods", was.Type == is.Type || request.ChangesType},
		{paths.pods, was.EffectivePodCIDR(), is.EffectivePodCIDR(), "the running pods have addresses from this range",
			mayReplace(was.EffectivePodCIDR(), is.EffectivePodCIDR(), request.Facts.PodCIDRs)},
		{paths.services, was.ServiceCIDR, is.ServiceCIDR, "the existing Services have addresses from this range",
			mayReplace(was.ServiceCIDR, is.ServiceCIDR, request.Facts.ServiceCIDRs)},
		{nodeMaskPath, strconv.Itoa(maskWas), strconv.Itoa(maskIs), "the nodes have ranges of this length",
			maskWas == maskIs || !hasRoom(was.EffectivePodCIDR(), maskWas)},
	} {
		isRefused := slices.ContainsFunc(r.Errors, func(err *field.Error) bool { return err.Field == each.path.String() })
		if each.allowed || each.before == "" || isRefused {
			continue
		}
		keep = append(keep, each.path.String()+": "+each.before)
		former, wanted := fielderror.Abbreviate(each.before), cmp.Or(fielderror.Abbreviate(each.after), "absent")
		r.Errors = append(r.Errors, field.Forbidden(each.path, fmt.Sprintf("cannot change from %s to %s in a running network: %s",
			former, wanted, each.because+"; write "+former+" again, or create a new cluster")))
	}
	return keep
}

// mayReplace reports whether one range may replace another: it is the same, or the other is not what
// the cluster uses.
func mayReplace(before, after string, inUse []string) bool {
	was, err := netip.ParsePrefix(before)
	if err != nil {
		return true
	}
	is, err := netip.ParsePrefix(after)
	return err == nil && was.Masked() == is.Masked() || !slices.Contains(inUse, before) && slices.Contains(inUse, after)
}
