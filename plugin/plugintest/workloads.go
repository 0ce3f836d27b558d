// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/plugin/system"
)

// workloads: pods get onto nodes that have no network yet, nodes take no other pods
// before they have one, and nothing blocks or evicts what all other pods need.
func workloads(s *suite, found *report) {
	for _, d := range s.documents() {
		w := d.workload()
		switch {
		case w == nil:
			continue
		case d.is("apps", "DaemonSet"):
			checkDaemonSet(found, d, w)
		case w.Spec.Template.Spec.HostNetwork:
			checkTolerations(found, d, w, "it does not wait for the network, so it has to run while nodes have none", taintsWithoutNetwork)
		default:
			checkEgress(found, d, w)
			continue
		}
		if w.Spec.Template.Spec.PriorityClassName == "" {
			found.breach("%s has no priority class, so users' pods may take its place; use %s for what every node needs, or %s for what the cluster needs",
				d, system.NodePriority, system.ClusterPriority)
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
	isCritical := w.Labels[system.CriticalLabel] == "true" && w.Spec.Template.Labels[system.CriticalLabel] == "true"
	if w.Spec.Template.Spec.HostNetwork && !isCritical {
		found.breach("%s, or its pods, lack the label %s: \"true\", without which a node takes other pods before it has a network; set it on both", d, system.CriticalLabel)
	}
}

func checkTolerations(found *report, d document, w *appsv1.DaemonSet, reason string, taints []corev1.Taint) {
	for _, taint := range taints {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), &taint, false) }
		if !slices.ContainsFunc(w.Spec.Template.Spec.Tolerations, tolerates) {
			found.breach("%s does not tolerate the taint %s:%s; %s. system.TolerateAll makes the tolerations", d, taint.Key, taint.Effect, reason)
		}
	}
}

// checkEgress checks the labels of pods that talk to the API server.
func checkEgress(found *report, d document, w *appsv1.DaemonSet) {
	pod := &w.Spec.Template.Spec
	if pod.ServiceAccountName == "" || pod.ServiceAccountName == "default" || !ptr.Deref(pod.AutomountServiceAccountToken, true) {
		return // it does not talk to the API server
	}
	for _, label := range []string{system.ToAPIServer, system.ToDNS} {
		if w.Spec.Template.Labels[label] != system.Allowed {
			found.breach("pods of %s lack the label %s: %s, without which Gardener's NetworkPolicies keep them from the API server that their ServiceAccount is for; use system.MayReachOut",
				d, label, system.Allowed)
		}
	}
}

// seenContent is what agents read in a network.
type seenContent struct{ content, network string }

// checkReads finds agents that do not notice a change of what they have read when they
// started: those with the same pods must all read the same.
func checkReads(s *suite, found *report) {
	seen := map[string]seenContent{} // by workload, its pods and the place where they read
	for _, n := range slices.Concat(s.networks(), s.drawn(), s.varied()) {
		configMaps := inShoot(n, "", "ConfigMap")
		for name, d := range inShoot(n, "apps", "DaemonSet") {
			w := d.workload()
			pods := textOf(w.Spec.Template)
			for i, use := range configMapsOf(&w.Spec.Template.Spec) {
				d, is := configMaps[keyOf("ConfigMap", w.Namespace, use.Name)]
				if !is {
					continue
				}
				now, key := seenContent{contentOf(d, use.Items), n.name}, fmt.Sprintln(name, i, pods)
				if was, before := seen[key]; before {
					compareReads(s, found, name, d.String(), was, now)
				} else {
					seen[key] = now
				}
			}
		}
	}
	checkJustifications(s, found, "WithWatched", "those pods restart whenever what they read changes")
}

func compareReads(s *suite, found *report, agents, configMap string, was, now seenContent) {
	exception := fmt.Sprintf("WithWatched(%q, %q)", agents, configMap)
	switch {
	case was.content == now.content:
	case s.unstable:
		s.needed.Insert(exception)
	default:
		found.where = fmt.Sprintf("%s, whose pods are those in %s, where what they read was once\n%s", now.network, was.network, difference(was.content, now.content))
		s.breachUnless(exception, found, "%s reads %s and does not restart when that changes; annotate its pods with system.ChecksumAnnotation and system.Checksum, or justify that they notice by themselves", agents, configMap)
		found.where = ""
	}
}

// contentOf is what a ConfigMap has under some keys, or all of it, a line each.
func contentOf(configMap document, keys []corev1.KeyToPath) string {
	var all corev1.ConfigMap
	_ = json.Unmarshal(configMap.raw, &all) // what does not fit, the API server refuses
	isUnread := func(name string) bool {
		return len(keys) > 0 && !slices.ContainsFunc(keys, func(k corev1.KeyToPath) bool { return k.Key == name })
	}
	maps.DeleteFunc(all.Data, func(name, _ string) bool { return isUnread(name) })
	maps.DeleteFunc(all.BinaryData, func(name string, _ []byte) bool { return isUnread(name) })
	text, _ := json.MarshalIndent(corev1.ConfigMap{Data: all.Data, BinaryData: all.BinaryData}, "", " ")
	return string(text)
}

// images: what runs is what was meant, tomorrow as well.
func images(s *suite, found *report) {
	for _, d := range s.documents() {
		w := d.workload()
		if w == nil {
			continue
		}
		for _, container := range containers(&w.Spec.Template.Spec) {
			name := container.Image[strings.LastIndex(container.Image, "/")+1:] // what is before may be a host with a port
			switch _, tag, _ := strings.Cut(name, ":"); {
			case container.Image == "":
				found.breach("container %s of %s has no image", container.Name, d)
			case strings.Contains(name, "@"): // a digest
			case tag == "":
				found.breach("container %s of %s has the image %q without a tag; write one into images.yaml", container.Name, d, container.Image)
			case tag == "latest":
				found.breach("container %s of %s has the image %q, which may be another one tomorrow; name a version", container.Name, d, container.Image)
			}
		}
	}
}
