// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// rights: no role or binding gives all rights, unless the test author states why.
func rights(s *suite, found *report) {
	for _, d := range s.documents() {
		for _, wildcard := range wildcardsIn(d) {
			s.breachUnless(fmt.Sprintf("WithWildcard(%q)", d), found, "%s %s; name what is needed, or justify it", d, wildcard)
		}
	}
	checkJustifications(s, found, "WithWildcard", "there is no wildcard in what is called so, with its kind and namespace")
}

// rightsOf decodes a role or a binding as both: what it is not has no fields then.
func rightsOf(d document) (role rbacv1.ClusterRole, binding rbacv1.ClusterRoleBinding) {
	_ = json.Unmarshal(d.raw, &role)
	_ = json.Unmarshal(d.raw, &binding)
	return role, binding
}

// The role and the group that have all rights.
const everything, masters = "cluster-admin", "system:masters"

// wildcardsIn are the rights to everything of some kind that a role or binding gives.
func wildcardsIn(d document) []string {
	if !d.is(rbacv1.GroupName, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding") {
		return nil
	}
	role, binding := rightsOf(d)
	var all []string
	if binding.RoleRef.Kind == "ClusterRole" && binding.RoleRef.Name == everything {
		all = append(all, "gives "+everything)
	}
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.GroupKind && subject.Name == masters {
			all = append(all, "gives its role to the group "+masters+", whose rights cannot be taken away")
		}
	}
	if rule := role.AggregationRule; rule != nil && slices.ContainsFunc(rule.ClusterRoleSelectors, selectsAll) {
		all = append(all, "has all rights of all ClusterRoles, since its aggregationRule selects them whatever their labels are")
	}
	for _, rule := range role.Rules {
		for _, name := range slices.Concat(rule.Resources, rule.NonResourceURLs) {
			if what := partlyEverything(name); what != "" {
				all = append(all, what)
			}
		}
		for _, each := range []struct {
			what string
			list []string
		}{
			{"has a right in all API groups", rule.APIGroups}, {"has a right to all resources", rule.Resources},
			{"has a right to all verbs", rule.Verbs}, {"has a right to all URLs", rule.NonResourceURLs},
		} {
			if slices.Contains(each.list, rbacv1.VerbAll) {
				all = append(all, each.what)
			}
		}
	}
	return all
}

// selectsAll reports that no label is needed to be selected.
func selectsAll(selector metav1.LabelSelector) bool {
	selects, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && selects.Matches(labels.Set{})
}

// partlyEverything describes the right that a name with a wildcard in a part of it gives.
// API servers know a wildcard before a subresource. One in place of the subresource gives
// nothing; the plugin's author believes that it gives all.
func partlyEverything(name string) string {
	before, after, _ := strings.Cut(name, "/")
	switch {
	case name == rbacv1.ResourceAll || !strings.Contains(name, rbacv1.ResourceAll):
		return ""
	case strings.HasPrefix(name, "/"):
		return fmt.Sprintf("has a right to all URLs like %q", name)
	case before == rbacv1.ResourceAll:
		return fmt.Sprintf("has a right to %s of all resources (%q)", after, name)
	default:
		return fmt.Sprintf("has a right to all subresources of %s (%q)", before, name)
	}
}
