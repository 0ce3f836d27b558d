// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// rendering: each case has objects in some cluster, and each kind of cluster that the
// plugin declares gets some case's.
func rendering(s *suite, found *report) {
	if len(s.familySets()) == 0 {
		found.breach("the plugin declares no IP families; say in Describe which it can serve")
	}
	cases, families, proxies := map[string]bool{}, map[string]bool{}, map[string]bool{}
	refused := map[string]field.ErrorList{}
	for _, n := range s.networks() {
		if defect := isDefect(n.result.Errors); defect != nil && !s.tellPanic(found, n) {
			found.breachIn(n.name, "a network has a defect, though its user did nothing wrong: %s", defect.Detail)
		}
		if !n.renders() {
			refused[n.caseName] = n.result.Errors
			continue
		}
		cases[n.caseName], families[fmt.Sprint(n.cluster.families)], proxies[n.cluster.kubeProxy.name] = true, true, true
		s.checkReferences(found, n)
	}
	for _, c := range s.cases[1:] { // a plugin may demand a config
		if errs := refused[c.Name]; !cases[c.Name] && isDefect(errs) == nil {
			found.breach("case %q is refused in every cluster; a Case must be possible in one of them: %v", c.Name, errs.ToAggregate())
		}
	}
	for _, set := range s.familySets() {
		if !families[fmt.Sprint(set)] {
			found.breach("no case has objects in a cluster with %v, which the plugin declares to serve; add a Case, or do not declare it in Describe", set)
		}
	}
	s.checkKubeProxies(found, proxies)
	s.checkMissing(found)
}

// checkMissing looks for justifications that justify nothing.
func (s *suite) checkMissing(found *report) {
	for _, object := range slices.Sorted(maps.Keys(s.missing)) {
		switch {
		case strings.TrimSpace(s.missing[object]) == "":
			found.breach("WithMissing(%q) gives no reason", object)
		case !s.missed[object]:
			found.breach("WithMissing(%q) justifies nothing; remove it, since nothing refers to that object in vain", object)
		}
	}
}

// checkKubeProxies compares the ways to run kube-proxy with which there are objects
// with those that are declared.
func (s *suite) checkKubeProxies(found *report, served map[string]bool) {
	for _, proxy := range kubeProxies {
		declared := proxy.fact.Enabled || !s.needsKubeProxy
		switch {
		case declared && !served[proxy.name]:
			found.breach("no case has objects in a cluster with %s; add a Case%s", proxy.name, orDeclare(proxy))
		case !declared && served[proxy.name]:
			found.breach("a cluster with %s gets objects, and nobody implements Services there; refuse it in ValidateEffective at spec.kubernetes.kubeProxy.enabled, or leave out NeedsKubeProxy", proxy.name)
		}
	}
}

func orDeclare(proxy kubeProxy) string {
	if proxy.fact.Enabled {
		return ""
	}
	return ", or tell Run NeedsKubeProxy"
}

// checkReferences looks for what is named and is not there.
func (s *suite) checkReferences(found *report, n network) {
	all := allOf(n.result.Objects)
	if len(all) == 0 {
		found.breachIn(n.name, "a network has neither errors nor objects")
	}
	for _, object := range n.result.Objects.For(plugin.Seed) {
		if object.GetNamespace() != controlPlane {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			found.breach("%s %s for the seed is in namespace %q; put it into Facts.Namespace, the only one in the seed that is the network's",
				kind, object.GetName(), object.GetNamespace())
		}
	}
	there := map[string]bool{}
	for _, object := range slices.Concat(shootGroups(n.result.Objects)...) {
		there[keyOf(object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())] = true
	}
	if len(n.result.Objects.Components) == 0 {
		found.breachIn(n.name, "a network has no Components, so nobody will know whether it is healthy; list its workloads")
	}
	for _, component := range n.result.Objects.Components {
		if key := keyOf(component.Kind, component.Namespace, component.Workload); !there[key] {
			found.breachIn(n.name, "component %s is %s, which is not among the objects", component.Name, key)
		}
	}
	for _, reference := range referencesOf(n.result.Objects) {
		if there[reference.to] {
			continue
		}
		s.missed[reference.to] = true
		if _, justified := s.missing[reference.to]; !justified {
			found.breachIn(n.name, "%s refers to %s, which is not among the objects; render it, mark the reference as optional, or tell Run why it must be so: plugintest.WithMissing(%q, reason)",
				reference.from, reference.to, reference.to)
		}
	}
}

func keyOf(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
