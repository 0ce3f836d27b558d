// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// Reports declares what the probes of all nodes report. A change is an Event if other targets are
// failing, if another check is tested, or if the probe was silent before: each probe reports about
// once a minute, also if nothing is new.
var Reports = Watch{
	Kind:     connectivityv1alpha1.GroupVersion.WithKind("NodeConnectivity"),
	Selector: labels.Everything(), Typed: true, Relevant: isNews,
}

// DeletionTaint is the key of the taint of nodes that the cluster autoscaler is about to delete.
// It is the only taint that is cached.
const DeletionTaint = "ToBeDeletedByClusterAutoscaler"

// What a report may have, as its CRD states. The API server of a hostile shoot does not check it.
const (
	maxChecks, maxResults     = 10, 8
	maxTargetName, maxFailure = 253, 128
)

// stripReport removes what no controller reads: of a target that does not fail, all but its name,
// and of one that fails its address and what its former attempts took.
func stripReport(o *connectivityv1alpha1.NodeConnectivity) {
	o.Labels, o.Annotations, o.OwnerReferences, o.Finalizers = nil, nil, nil, nil
	report := &o.Report
	report.ProbeVersion = ""
	if report.PodInterface != nil {
		report.PodInterface.Name = ""
	}
	report.Checks = slices.Clone(report.Checks[:min(len(report.Checks), maxChecks)])
	for i := range report.Checks {
		check := &report.Checks[i]
		check.Results = slices.Clone(check.Results[:min(len(check.Results), maxResults)])
		for j := range check.Results {
			r := &check.Results[j]
			kept := connectivityv1alpha1.Result{Name: condition.Shorten(r.Name, maxTargetName), ConsecutiveFailures: r.ConsecutiveFailures}
			if isFailing(r) {
				kept.Attempts, kept.Failures = r.Attempts, r.Failures
				kept.FailingSince, kept.LastSuccess = r.FailingSince, r.LastSuccess
				kept.Error = condition.Shorten(r.Error, maxFailure)
			}
			*r = kept
		}
	}
}

func isFailing(r *connectivityv1alpha1.Result) bool {
	return r.ConsecutiveFailures >= connectivityv1alpha1.FailingThreshold
}

// silence is the time after which a further report of a probe is news: the probe was not there, or
// cut off. A report that comes two minutes late counts as missing; the times of two reports may be
// some seconds nearer to each other than their arrivals.
const silence = 100 * time.Second

// isNews reports whether two reports of a probe differ in the targets that are failing, or in the
// number of checks, or are far apart.
func isNews(before, after client.Object) bool {
	one, okOne := before.(*connectivityv1alpha1.NodeConnectivity)
	two, okTwo := after.(*connectivityv1alpha1.NodeConnectivity)
	return !okOne || !okTwo || len(one.Report.Checks) != len(two.Report.Checks) || two.Report.Time.Sub(one.Report.Time.Time) > silence ||
		!slices.Equal(failing(&one.Report), failing(&two.Report))
}

// edge is one target of a probe in one check.
type edge struct {
	family connectivityv1alpha1.IPFamily
	check  connectivityv1alpha1.CheckType
	target string
}

func failing(report *connectivityv1alpha1.Report) (found []edge) {
	for i := range report.Checks {
		check := &report.Checks[i]
		for j := range check.Results {
			if r := &check.Results[j]; isFailing(r) {
				found = append(found, edge{check.Family, check.Type, r.Name})
			}
		}
	}
	return found
}

// reportPace is the time after which a probe may report again without counting against what its
// shoot may bring into the cache: a probe does not report twice within ten seconds. Otherwise a
// thousand nodes would use all of it up within minutes.
const reportPace = 9 * time.Second

// countedReport is what was counted for the report of a node.
type countedReport struct {
	version string
	size    int
	at      time.Time
}

// cost returns how many bytes an object counts that arrives in the cache.
func (s *Shoot) cost(object any) int {
	report, ok := object.(*connectivityv1alpha1.NodeConnectivity)
	if !ok {
		size := objectOverhead + max(0, elements(reflect.ValueOf(object))-freeElements)*elementOverhead
		if sized, ok := object.(interface{ Size() int }); ok {
			size += sized.Size()
		}
		return size
	}
	size := sizeOfReport(report)
	count, now := size, s.options.Clock.Now()
	s.connection.reports.Update(report.Name, func(last countedReport, known bool) (countedReport, bool) {
		switch {
		case known && last.version == report.ResourceVersion:
			count = 0
			return last, true
		case known && now.Sub(last.at) >= reportPace:
			count = max(0, size-last.size)
		}
		return countedReport{report.ResourceVersion, max(size, last.size), now}, true
	})
	return count
}

// sizeOfReport returns about how many bytes a stripped report takes in memory.
func sizeOfReport(o *connectivityv1alpha1.NodeConnectivity) int {
	const overheadOfResult = 64
	size := objectOverhead + o.ObjectMeta.Size()
	for i := range o.Report.Checks {
		size += overheadOfResult
		for j := range o.Report.Checks[i].Results {
			r := &o.Report.Checks[i].Results[j]
			size += overheadOfResult + len(r.Name) + len(r.Error)
		}
	}
	return size
}

// maxProviderID is how many bytes the providerID of a node has that is cached. A longer one is that of
// no infrastructure.
const maxProviderID = 256

// stripNode keeps the ranges of pods, the ID of the machine, what shows that the node is about to go,
// and the conditions.
func stripNode(o *corev1.Node) {
	o.Labels, o.Annotations = nil, nil
	var taints []corev1.Taint
	for i := range o.Spec.Taints {
		if o.Spec.Taints[i].Key == DeletionTaint {
			taints = []corev1.Taint{{Key: DeletionTaint, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	if len(o.Spec.ProviderID) > maxProviderID {
		o.Spec.ProviderID = ""
	}
	o.Spec = corev1.NodeSpec{ProviderID: o.Spec.ProviderID, PodCIDR: o.Spec.PodCIDR, PodCIDRs: o.Spec.PodCIDRs, Unschedulable: o.Spec.Unschedulable, Taints: taints}
	o.Status = corev1.NodeStatus{Conditions: o.Status.Conditions}
}

// IsLeaving reports whether a node, as it is cached, is about to be deleted or drained, so that it
// does not count as broken: it is being deleted, is cordoned, or the cluster autoscaler or
// Gardener's machine controller manager has marked it.
func IsLeaving(node *corev1.Node) bool {
	return node.DeletionTimestamp != nil || node.Spec.Unschedulable || len(node.Spec.Taints) > 0 ||
		slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == machineTerminating && c.Status == corev1.ConditionTrue
		})
}

// machineTerminating is the condition that Gardener's machine controller manager sets.
const machineTerminating corev1.NodeConditionType = "Terminating"
