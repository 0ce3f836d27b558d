// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// rendering: each case has objects in some cluster, and each kind of cluster that the
// plugin declares gets some case's.
func rendering(s *suite, found *report) {
	if len(familySets(s.plugin)) == 0 {
		found.breach("the plugin declares no IP families; say in Describe which it can serve")
	}
	served := sets.New[string]() // cases, IP families and ways to run kube-proxy
	refused := map[string]field.ErrorList{}
	for _, n := range s.networks() {
		found.where = n.name
		for _, err := range n.result.Errors {
			if err.Type == field.ErrorTypeInternal {
				found.breach("a network has a defect, though its user did nothing wrong: %s", err.Detail)
				served.Insert("case " + n.caseName) // as far as its user is concerned
			}
		}
		if !n.renders() {
			refused[n.caseName] = n.result.Errors
			continue
		}
		served.Insert("case "+n.caseName, fmt.Sprint(n.cluster.families), n.cluster.kubeProxy.name)
		checkObjects(found, n)
		checkReferences(s, found, n)
	}
	found.where = ""
	for _, c := range s.cases[1:] { // a plugin may demand a config
		if !served.Has("case " + c.Name) {
			found.breach("case %q is refused in every cluster; a Case must be possible in one of them: %v", c.Name, refused[c.Name].ToAggregate())
		}
	}
	for _, set := range familySets(s.plugin) {
		if !served.Has(fmt.Sprint(set)) {
			found.breach("no case has objects in a cluster with %v, which the plugin declares to serve; add a Case, or do not declare it in Describe", set)
		}
	}
	for _, proxy := range kubeProxies {
		switch isServed := served.Has(proxy.name); {
		case !isServed && proxy.fact.Enabled:
			found.breach("no case has objects in a cluster with %s; add a Case", proxy.name)
		case !isServed && !s.needsKubeProxy:
			found.breach("no case has objects in a cluster with %s; add a Case, or pass NeedsKubeProxy to Run", proxy.name)
		case isServed && !proxy.fact.Enabled && s.needsKubeProxy:
			found.breach("a cluster with %s gets objects, and nothing implements Services there; refuse it in ValidateEffective at spec.kubernetes.kubeProxy.enabled, or leave out NeedsKubeProxy", proxy.name)
		}
	}
	checkJustifications(s, found, "WithMissing", "nothing refers to that object in vain")
}

// checkObjects finds networks that lack objects or components, and objects outside of the
// network's namespace in the seed.
func checkObjects(found *report, n network) {
	if len(n.result.Objects.For(plugin.Shoot))+len(n.result.Objects.For(plugin.Seed)) == 0 {
		found.breach("a network has neither errors nor objects")
	}
	if len(n.result.Objects.Components) == 0 {
		found.breach("a network has no Components, so its health cannot be reported; list its workloads")
	}
	for _, object := range n.result.Objects.For(plugin.Seed) {
		if object.GetNamespace() != controlPlane {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			found.breach("%s %s for the seed is in namespace %q; put it into Facts.Namespace, the only one in the seed that is the network's",
				kind, object.GetName(), object.GetNamespace())
		}
	}
}

// checkReferences finds what is named and is not there.
func checkReferences(s *suite, found *report, n network) {
	inShoot := n.result.Objects.For(plugin.Shoot)
	there := sets.New[string]()
	for _, object := range inShoot {
		there.Insert(nameOf(object))
	}
	for _, component := range n.result.Objects.Components {
		if key := keyOf(component.Kind, component.Namespace, component.Workload); !there.Has(key) {
			found.breach("component %s is %s, which is not among the objects", component.Name, key)
		}
	}
	for _, object := range inShoot {
		for _, name := range s.referencesIn(object) {
			if exception := fmt.Sprintf("WithMissing(%q)", name); !there.Has(name) && !s.isJustified(exception) {
				found.breach("%s refers to %s, which is not among the objects; render it, mark the reference as optional, or justify it: %s",
					nameOf(object), name, withReason(exception))
			}
		}
	}
}
