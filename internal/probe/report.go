// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

// Tested is a target with its History.
type Tested struct {
	Target
	History
}

// order is that of the checks of one family in a report.
var order = []v1alpha1.CheckType{
	v1alpha1.CheckPods, v1alpha1.CheckNodes, v1alpha1.CheckServices, v1alpha1.CheckDNS, v1alpha1.CheckOutside,
}

// maxResults is how many results of a check the CRD allows.
const maxResults = 8

// NewReport returns the report about all targets with a complete attempt. If a check has more than
// fit into a report, those that fail come first.
func NewReport(now time.Time, version string, peers int, podInterface *v1alpha1.PodInterface, all []Tested) v1alpha1.Report {
	report := v1alpha1.Report{
		Time: metav1.Time{Time: now.UTC().Truncate(time.Second)}, ProbeVersion: version, Peers: int32(peers), PodInterface: podInterface,
	}
	for _, family := range []v1alpha1.IPFamily{v1alpha1.IPv4, v1alpha1.IPv6} {
		for _, kind := range order {
			check := newCheck(family, kind, all)
			if check.Targets == 0 {
				continue
			}
			report.Targets += check.Targets
			report.Failing += check.Failing
			report.Checks = append(report.Checks, check)
		}
	}
	return report
}

func newCheck(family v1alpha1.IPFamily, kind v1alpha1.CheckType, all []Tested) v1alpha1.Check {
	var these []Tested
	for _, one := range all {
		if one.Family == family && one.Type == kind && one.attempts > 0 {
			these = append(these, one)
		}
	}
	slices.SortFunc(these, func(a, b Tested) int { return cmp.Compare(b.consecutive, a.consecutive) })
	these = these[:min(maxResults, len(these))]
	slices.SortFunc(these, func(a, b Tested) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address)) })
	check := v1alpha1.Check{Family: family, Type: kind, Targets: int32(len(these))}
	for i := range these {
		if these[i].IsFailing() {
			check.Failing++
		}
		check.Results = append(check.Results, these[i].result(these[i].Target))
	}
	return check
}
