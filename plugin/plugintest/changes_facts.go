// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/trellis-network/trellis/plugin"
)

// checkFacts looks at what a plugin says of clusters that change under a network: there
// is a class, and a reason, wherever agents restart for it.
func (s *suite) checkFacts(found *report) {
	for _, before := range s.plainNetworks() {
		for _, after := range s.networks() {
			if after.caseName == before.caseName && after.renders() && mayFollow(before, after) {
				s.checkStep(found, before, after)
				s.checkStep(found, after, before)
			}
		}
	}
}

// mayFollow says whether the two are one cluster before and after its user has changed
// the Shoot.
func mayFollow(before, after network) bool {
	same := after.request.Facts
	same.KubeProxy, same.VPA, same.NodeLocalDNS = before.request.Facts.KubeProxy, before.request.Facts.VPA, before.request.Facts.NodeLocalDNS
	return !reflect.DeepEqual(after.request.Facts, before.request.Facts) && reflect.DeepEqual(same, before.request.Facts)
}

func (s *suite) checkStep(found *report, before, after network) {
	was, errs := s.plugin.Decode(before.result.Config, nil)
	is, moreErrs := s.plugin.Decode(after.result.Config, nil)
	if len(errs)+len(moreErrs) > 0 {
		return // which is the promise defaults
	}
	then, now := before.request.Facts, after.request.Facts
	told := string(before.result.Config) != string(after.result.Config)
	var changed []string
	for _, fact := range plugin.AllFacts() {
		if reflect.DeepEqual(then.Value(fact), now.Value(fact)) {
			continue
		}
		changed = append(changed, string(fact))
		class, reason := s.plugin.ClassifyFact(fact, was, is, &then, &now)
		told = told || class != ""
		step := fmt.Sprintf("%s from %v to %v", fact, then.Value(fact), now.Value(fact))
		switch {
		case class == "":
		case !slices.Contains(classes, class):
			found.breach("ClassifyFact has the class %q for %s; there are %v", class, step, classes)
		case strings.TrimSpace(reason) == "":
			found.breach("ClassifyFact has no reason why a change of %s is %s; say in one sentence what happens", step, class)
		case strings.HasSuffix(reason, "."):
			found.breach("the reason of ClassifyFact for %s ends with a period: %q; it stands within a sentence", step, reason)
		}
	}
	if agents := restarting(before, after); len(agents) > 0 && !told {
		found.breachIn(after.name, "%s restarts when %s changes, of which nobody is told; implement plugin.FactClassifier and give that change a class",
			strings.Join(agents, ", "), strings.Join(changed, " or "))
	}
}

// restarting are the DaemonSets whose pods are not the same in both networks.
func restarting(before, after network) []string {
	pods := map[string]string{}
	for _, object := range before.result.Objects.Shoot {
		if d, template := podsOf(object); template != "" {
			pods[d] = template
		}
	}
	var names []string
	for _, object := range after.result.Objects.Shoot {
		if d, template := podsOf(object); pods[d] != "" && pods[d] != template {
			names = append(names, d)
		}
	}
	return names
}

func podsOf(object plugin.Object) (name, template string) {
	d := documentOf(object, inShoot, "")
	if w, ok := d.workload(); ok && d.kind.Kind == "DaemonSet" {
		return d.String(), textOf(w.Spec.Template)
	}
	return "", ""
}
