// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
)

// RefuseFixed adds to a Result's errors those changes that no running network can make, even if
// its plugin allows them: of its type, and of its ranges. before is what runs, and request is
// what the Result is of. A range that the Shoot's status does not list, unlike the wanted one,
// is not what runs, and may be corrected (Gardener's contract). RefuseFixed returns the refused
// fields with their present values: "spec.podCIDR: 10.1.0.0/16".
func (r *Result) RefuseFixed(before *extensionsv1alpha1.NetworkSpec, request *Request) (keep []string) {
	paths, after := pathsOf(request), &request.Spec
	for _, each := range []struct {
		path                   *field.Path
		before, after, because string
		allowed                bool
	}{
		{paths.networkType, before.Type, after.Type, "the network plugin has set up the interfaces of the running pods", before.Type == after.Type},
		{paths.pods, before.EffectivePodCIDR(), after.EffectivePodCIDR(), "the running pods have addresses from this range",
			mayReplace(before.EffectivePodCIDR(), after.EffectivePodCIDR(), request.Facts.PodCIDRs)},
		{paths.services, before.ServiceCIDR, after.ServiceCIDR, "the existing Services have addresses from this range",
			mayReplace(before.ServiceCIDR, after.ServiceCIDR, request.Facts.ServiceCIDRs)},
	} {
		isRefused := slices.ContainsFunc(r.Errors, func(err *field.Error) bool { return err.Field == each.path.String() })
		if each.allowed || each.before == "" || isRefused {
			continue
		}
		keep = append(keep, each.path.String()+": "+each.before)
		r.Errors = append(r.Errors, field.Forbidden(each.path, fmt.Sprintf("cannot change from %s to %s in a running network: %s",
			fielderror.Abbreviate(each.before), fielderror.Abbreviate(each.after), each.because)))
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
