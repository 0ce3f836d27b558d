// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin/system"
)

// workloads: pods get onto nodes that have no network yet, nodes take no other pods
// before they have one, and nothing blocks or evicts what all other pods need.
func workloads(s *suite, found *report) {
	for _, d := range s.documents() {
		w := s.workload(d)
		if w == nil {
			continue
		}
		switch {
		case d.is("apps", "DaemonSet"):
			checkDaemonSet(found, d, w)
			checkPriority(found, d, w)
		case w.Spec.Template.Spec.HostNetwork:
			checkTolerations(found, d, w, "it does not wait for the network, so it has to run while nodes have none", taintsWithoutNetwork)
			checkPriority(found, d, w)
		default:
			checkEgress(found, d, w)
		}
	}
	checkReads(s, found)
}

// anyTaint is a taint of a user's or of a controller's.
const anyTaint = "example.com/any"

var (
	// taintsWithoutNetwork are on nodes that wait for their network.
	taintsWithoutNetwork = []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.gardener.cloud/critical-components-not-ready", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule, Value: "true"},
	}
	// taintsOfAnyNode are the others that a node can have.
	taintsOfAnyNode = []corev1.Taint{
		{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: anyTaint, Effect: corev1.TaintEffectNoSchedule, Value: "value"},
		{Key: anyTaint, Effect: corev1.TaintEffectNoExecute, Value: "value"},
	}
)

// checkDaemonSet checks what the agents on every node need.
func checkDaemonSet(found *report, d document, w *appsv1.DaemonSet) {
	checkTolerations(found, d, w, "every node needs its part of the network, whatever else it is for", slices.Concat(taintsWithoutNetwork, taintsOfAnyNode))
	if w.Labels[system.RoleLabel] != system.SystemComponent {
		found.breach("%s lacks the label %s: %s, by which Gardener finds the cluster's own components; use system.SystemApp", d, system.RoleLabel, system.SystemComponent)
	}
	if rolling := w.Spec.UpdateStrategy.RollingUpdate; rolling == nil || rolling.MaxUnavailable == nil || rolling.MaxUnavailable.IntValue() != atATime {
		found.breach("%s is not replaced on as many nodes at a time as Input.MaxUnavailable states; use system.RollOut as its updateStrategy", d)
	}
	if !w.Spec.Template.Spec.HostNetwork {
		return
	}
	if w.Labels[system.CriticalLabel] != "true" || w.Spec.Template.Labels[system.CriticalLabel] != "true" {
		found.breach("%s, or its pods, lack the label %s: \"true\", without which a node takes other pods before it has a network; set it on both", d, system.CriticalLabel)
	}
}

func checkTolerations(found *report, d document, w *appsv1.DaemonSet, reason string, taints []corev1.Taint) {
	for _, taint := range taints {
		if !tolerates(w.Spec.Template.Spec.Tolerations, taint) {
			found.breach("%s does not tolerate the taint %s:%s; %s. system.TolerateAll makes the tolerations", d, taint.Key, taint.Effect, reason)
		}
	}
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), &taint, false) })
}

// checkPriority checks that users' pods do not take the place of the network's.
func checkPriority(found *report, d document, w *appsv1.DaemonSet) {
	if w.Spec.Template.Spec.PriorityClassName == "" {
		found.breach("%s has no priority class, so users' pods may take its place; use %s for what every node needs, or %s for what the cluster needs",
			d, system.NodePriority, system.ClusterPriority)
	}
}

// checkEgress checks the labels of pods that talk to the API server.
func checkEgress(found *report, d document, w *appsv1.DaemonSet) {
	pod := &w.Spec.Template.Spec
	noToken := pod.AutomountServiceAccountToken != nil && !*pod.AutomountServiceAccountToken
	if pod.ServiceAccountName == "" || pod.ServiceAccountName == "default" || noToken {
		return // it does not talk to the API server
	}
	for _, label := range []string{system.ToAPIServer, system.ToDNS} {
		if w.Spec.Template.Labels[label] != system.Allowed {
			found.breach("pods of %s lack the label %s: %s, without which Gardener's NetworkPolicies keep them from the API server that their ServiceAccount is for; use system.MayReachOut",
				d, label, system.Allowed)
		}
	}
}
