// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trellis-network/trellis/plugin"
)

// checkFacts looks at what a plugin says of clusters that change under a network: there
// is a class, and a reason, wherever agents restart for it.
func (s *suite) checkFacts(found *report) {
	for _, n := range slices.Concat(s.plainNetworks(), s.varied()) {
		before, ok := s.inForce(n)
		if !ok {
			continue // which is the promise defaults
		}
		for _, fact := range plugin.AllFacts() {
			for _, change := range successors[fact] {
				if after, ok := s.successor(n, fact, change); ok {
					s.checkStep(found, before, after)
					s.checkStep(found, after, before)
				}
			}
		}
	}
}

// inForce decodes what is in force in a network.
func (s *suite) inForce(n network) (state, bool) {
	config, errs := s.plugin.Decode(n.result.Config, nil)
	return state{network: n, config: config}, len(errs) == 0
}

// successor is the same network once something else is known of its cluster, if that is
// possible.
func (s *suite) successor(before network, fact plugin.Fact, change func(*plugin.Input)) (state, bool) {
	after := before
	in := inputOf(&after.request)
	change(in)
	after.request.Facts, after.request.Environment = in.Facts, in.Environment
	after.request.Spec.IPFamilies = after.request.Facts.WantedIPFamilies
	if reflect.DeepEqual(before.request.Facts.Value(fact), after.request.Facts.Value(fact)) {
		return state{}, false
	}
	after.result = s.pipeline.Build(after.request)
	if !after.renders() {
		return state{}, false
	}
	return s.inForce(after)
}

func (s *suite) checkStep(found *report, before, after state) {
	defer found.survive(before.name)
	then, now := inputOf(&before.request), inputOf(&after.request)
	told := string(before.result.Config) != string(after.result.Config)
	var changed []string
	for _, fact := range plugin.AllFacts() {
		if reflect.DeepEqual(then.Value(fact), now.Value(fact)) {
			continue
		}
		changed = append(changed, string(fact))
		class, reason := s.plugin.Classify(string(fact), before.config, after.config, then, now)
		told = told || class != "" && class != plugin.Safe
		step := fmt.Sprintf("%s from %v to %v", fact, then.Value(fact), now.Value(fact))
		switch {
		case class == "":
		case !slices.Contains(classes, class):
			found.breach("Classify has the class %q for %s; there are %v", class, step, classes)
		case strings.TrimSpace(reason) == "":
			found.breach("Classify has no reason why a change of %s is %s; say in one sentence what happens", step, class)
		case strings.HasSuffix(reason, "."):
			found.breach("the reason of Classify for %s ends with a period: %q; it stands within a sentence", step, reason)
		default:
			s.note(found, string(fact), class)
		}
	}
	if told {
		return
	}
	if agents := restarting(before.network, after.network); len(agents) > 0 {
		found.breachIn(before.name, "%s restarts when %s changes, of which users are not told; give that change in Classify a class other than safe",
			strings.Join(agents, ", "), strings.Join(changed, " or "))
	}
}

// restarting are the DaemonSets whose pods are not the same in both networks.
func restarting(before, after network) []string {
	pods := map[string]any{}
	for _, object := range awaited(before.result.Objects) {
		if name, template := podsOf(object); template != nil {
			pods[name] = template
		}
	}
	var names []string
	for _, object := range awaited(after.result.Objects) {
		name, template := podsOf(object)
		if was, both := pods[name]; both && template != nil && !equality.Semantic.DeepEqual(was, template) {
			names = append(names, name)
		}
	}
	return names
}

// podsOf is what the pods of a DaemonSet are made of; nil for other objects. It is not
// encoded, since there are thousands to compare.
func podsOf(object plugin.Object) (name string, template any) {
	if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind != "DaemonSet" {
		return "", nil
	}
	name = keyOf("DaemonSet", object.GetNamespace(), object.GetName())
	switch typed := object.(type) {
	case *appsv1.DaemonSet:
		return name, &typed.Spec.Template
	case *unstructured.Unstructured:
		template, _, _ := unstructured.NestedFieldNoCopy(typed.Object, "spec", "template")
		return name, template
	default:
		if w, ok := documentOf(object, inShoot, "").workload(); ok {
			return name, &w.Spec.Template
		}
		return name, nil
	}
}
