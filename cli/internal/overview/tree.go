// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/cli/internal/tree"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/plugin"
)

// maxListed is how many entries of a kind are shown.
const maxListed = 50

// fresh is the greatest age of the hour of the latest report while probes report: that hour, and the
// minutes within which the operator writes the next one.
const fresh = time.Hour + 5*time.Minute

// componentsHealthy is the type of the condition about the components.
const componentsHealthy = "SystemComponentsHealthy"

// Tree shows a Network. now is for the ages in it.
func (n *Network) Tree(now time.Time) *tree.Node {
	root := &tree.Node{Label: n.Namespace + "/" + n.Name, Text: n.Type + "  " + string(n.State)}
	root.Add("generation", "%s", n.generation())
	root.Add("operation", "%s", n.operation(now))
	if n.LastError != nil {
		root.Add("error", "%s", n.LastError.Description)
	}
	root.Add("packets", "%s", cmp.Or(n.DataPath, "unknown how they travel"))
	root.Add("ranges", "%s", n.ranges())
	if c := condition.Get(n.Conditions, extensionsv1alpha1.NetworkUpToDate); c != nil {
		root.Add("update", "%s for %s: %s", c.Reason, age(now, c.LastTransitionTime.Time), c.Message)
	}
	n.addComponents(root, now)
	n.addConnectivity(root, now)
	listed(root, n.Conditions, func(c *corev1beta1.Condition) {
		if !slices.Contains([]string{componentsHealthy, extensionsv1alpha1.PodNetworkAvailable, extensionsv1alpha1.NetworkUpToDate}, c.Type) {
			root.Add(c.Type, "%s: %s", verdict(c, now), c.Message)
		}
	})
	listed(root, n.Warnings, func(w *plugin.Warning) { root.Add("warning", "%s", w) })
	if n.Problem != "" {
		root.Add("problem", "%s", n.Problem)
	}
	return root
}

func (n *Network) generation() string {
	text := fmt.Sprintf("%d, ", n.Generation)
	switch {
	case n.Applied:
		text += "applied"
	case n.Asleep:
		text += "not applied before the cluster wakes up"
	case n.ObservedGeneration == n.Generation:
		text += "not applied"
	case n.ObservedGeneration == 0:
		text += "not applied yet"
	default:
		text += fmt.Sprintf("not applied yet; %d was carried out or refused last", n.ObservedGeneration)
	}
	if n.RequestedOperation != "" {
		text += "; requested: " + n.RequestedOperation
	}
	return text
}

func (n *Network) operation(now time.Time) string {
	last := n.LastOperation
	if last == nil {
		return "none yet"
	}
	text := fmt.Sprintf("%s %s", last.Type, last.State)
	if last.State == corev1beta1.LastOperationStateProcessing {
		text += fmt.Sprintf(" (%d %%)", last.Progress)
	}
	text += ", " + age(now, last.LastUpdateTime.Time) + " ago"
	if n.LastError == nil { // which has the same text
		text += ": " + last.Description
	}
	return text
}

func (n *Network) ranges() string {
	parts := []string{"pods " + cmp.Or(n.PodCIDR, "unknown"), "Services " + cmp.Or(n.ServiceCIDR, "unknown")}
	if len(n.IPFamilies) > 0 {
		var families []string
		for _, family := range n.IPFamilies {
			families = append(families, string(family))
		}
		parts = append(parts, strings.Join(families, " and "))
	}
	return strings.Join(parts, ", ")
}

func (n *Network) addComponents(root *tree.Node, now time.Time) {
	health := condition.Get(n.Conditions, componentsHealthy)
	components := root.Add("components", "%s", verdict(health, now))
	listed(components, n.Components, func(c *Component) {
		components.Add(c.Name, "%s  %s %s/%s", word(c.Healthy, "healthy", "UNHEALTHY"), c.Kind, c.Namespace, c.Workload)
	})
	listed(components, slices.Sorted(maps.Keys(n.OtherComponents)), func(name *string) {
		runs := n.OtherComponents[*name]
		components.Add(*name, "%s  not part of the network", word(&runs, "healthy", "UNHEALTHY"))
	})
	names := slices.Sorted(maps.Keys(n.Rollouts))
	listed(components, names, func(name *string) {
		components.Add("roll-out", "%s", rollout(*name, n.Rollouts[*name], now))
	})
	if len(names) == 0 && n.isRolledOut() {
		components.Add("roll-out", "complete")
	}
	if health != nil {
		components.Add("message", "%s", health.Message)
	}
}

// isRolledOut reports whether all components are known to be healthy, which those are not that are
// being rolled out.
func (n *Network) isRolledOut() bool {
	return len(n.Components) > 0 && !slices.ContainsFunc(n.Components, func(c Component) bool { return c.Healthy == nil || !*c.Healthy })
}

func rollout(component string, r extensionsv1alpha1.Rollout, now time.Time) string {
	text := fmt.Sprintf("%s: %d of %s have the latest version, %d are available", component, r.Updated, count(r.Nodes, "node"), r.Available)
	if r.Since != nil {
		text += "; going on for " + age(now, r.Since.Time)
	}
	return text
}

func (n *Network) addConnectivity(root *tree.Node, now time.Time) {
	available := condition.Get(n.Conditions, extensionsv1alpha1.PodNetworkAvailable)
	if available == nil && n.ConnectivityTests == nil {
		root.Add("connectivity", "%s", n.untested())
		return
	}
	tests := root.Add("connectivity", "%s", verdict(available, now))
	if available != nil {
		tests.Add("message", "%s", available.Message)
	}
	if n.ConnectivityTests != nil {
		n.addTests(tests, now)
	}
	if n.NetworkModules != nil && n.NetworkModules.ARPProxy != nil {
		tests.Add("modules", "pods rely on proxy ARP of their nodes: %s", word(n.NetworkModules.ARPProxy, "yes", "no"))
	}
}

// untested is why there is no result.
func (n *Network) untested() string {
	switch {
	case n.Probes == nil:
		return "not tested yet"
	case *n.Probes:
		return "not tested now: no probe has reported yet, or the cluster is hibernated"
	}
	return "not tested: there are no probes, which may be switched off, or need Kubernetes 1.30"
}

func (n *Network) addTests(tests *tree.Node, now time.Time) {
	tests.Add("reached", "%s", results(n.ConnectivityTests.ConnectivityResults))
	for _, family := range slices.Sorted(maps.Keys(n.ConnectivityTests.Families)) {
		tests.Add(string(family), "%s", results(n.ConnectivityTests.Families[family]))
	}
	if s := n.ConnectivityTests.Summary; s != nil {
		text := fmt.Sprintf("%s from %s, of which %d %% pass", count(s.Edges, "target"), count(s.Nodes, "node"), s.PassingPercent)
		if now.Sub(s.Evidence.Time) > fresh {
			text += "; the latest report is of the hour from " + s.Evidence.UTC().Format("2006-01-02 15:04 MST")
		}
		tests.Add("tested", "%s", text)
		listed(tests, s.Worst, func(edge *extensionsv1alpha1.FailingEdge) {
			seen := "never reached"
			if edge.LastSuccess != nil {
				seen = "last reached " + age(now, edge.LastSuccess.Time) + " ago"
			}
			tests.Add("fails", "%s to %s (%s, %s), %s: %s", edge.Node, edge.Target, edge.Test, edge.Family, seen, cmp.Or(edge.Error, "no reason given"))
		})
	}
}

// results lists the tests with what came of them.
func results(r extensionsv1alpha1.ConnectivityResults) string {
	var parts []string
	for _, each := range []struct {
		name   string
		result *bool
	}{{"pods", r.Pods}, {"nodes", r.Nodes}, {"Services", r.Services}, {"DNS", r.DNS}} {
		parts = append(parts, each.name+" "+word(each.result, "yes", "NO"))
	}
	return strings.Join(parts, ", ")
}

// verdict is a condition's status in words, with its age.
func verdict(c *corev1beta1.Condition, now time.Time) string {
	if c == nil {
		return "not observed yet"
	}
	words := map[corev1beta1.ConditionStatus]string{
		corev1beta1.ConditionTrue: "yes", corev1beta1.ConditionFalse: "NO",
		corev1beta1.ConditionProgressing: "not yet", corev1beta1.ConditionUnknown: "unknown",
	}
	switch c.Type {
	case componentsHealthy:
		words[corev1beta1.ConditionTrue], words[corev1beta1.ConditionFalse] = "healthy", "UNHEALTHY"
		words[corev1beta1.ConditionProgressing] = "not healthy yet"
	case extensionsv1alpha1.PodNetworkAvailable:
		words[corev1beta1.ConditionTrue], words[corev1beta1.ConditionFalse] = "works", "BROKEN"
	}
	return cmp.Or(words[c.Status], string(c.Status)) + " for " + age(now, c.LastTransitionTime.Time)
}

func word(value *bool, yes, no string) string {
	switch {
	case value == nil:
		return "unknown"
	case *value:
		return yes
	}
	return no
}

func count(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func age(now, since time.Time) string {
	if since.IsZero() {
		return "an unknown time"
	}
	return duration.HumanDuration(max(now.Sub(since), 0))
}

// listed adds the first entries of a list, and how many more there are.
func listed[T any](to *tree.Node, list []T, add func(*T)) {
	for i := range list[:min(len(list), maxListed)] {
		add(&list[i])
	}
	if more := len(list) - maxListed; more > 0 {
		to.Add("…", "and %d more", more)
	}
}
