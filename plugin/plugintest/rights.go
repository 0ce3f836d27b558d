// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rights: no role or binding gives all rights, unless the test author states why.
func rights(s *suite, found *report) {
	for _, d := range s.documents() {
		for _, wildcard := range wildcardsIn(d) {
			if exception := fmt.Sprintf("WithWildcard(%q)", d); !s.isJustified(exception) {
				found.breach("%s %s; name what is needed, or justify it: %s", d, wildcard, withReason(exception))
			}
		}
	}
	checkJustifications(s, found, "WithWildcard", "there is no wildcard in what is called so, with its kind and namespace")
}

// rightsOf decodes a role or a binding as both: what it is not has no fields then.
func rightsOf(d document) (role rbacv1.ClusterRole, binding rbacv1.ClusterRoleBinding) {
	_ = json.Unmarshal([]byte(d.raw), &role)
	_ = json.Unmarshal([]byte(d.raw), &binding)
	return role, binding
}

// The role and the group that have all rights.
const (
	everything = "cluster-admin"
	masters    = "system:masters"
)

// wildcardsIn are the rights to everything of some kind that a role or binding gives, in
// words.
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
	return len(selector.MatchLabels) == 0 && !slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists
	})
}

// partlyEverything describes the right that a name with a wildcard in a part of it gives.
// In names of resources, API servers know a wildcard before a subresource. One in place of
// the subresource gives nothing; rights still reports it, since the plugin's author believes
// that it gives all subresources.
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

// bindingReferences are the role and the identities that a binding names. Roles and
// users of Kubernetes' own are always there.
func bindingReferences(d document) []string {
	_, binding := rightsOf(d)
	var all []string
	if role := binding.RoleRef; !strings.HasPrefix(role.Name, "system:") && !slices.Contains([]string{everything, "admin", "edit", "view"}, role.Name) {
		namespace := ""
		if role.Kind == "Role" {
			namespace = d.namespace
		}
		all = append(all, keyOf(role.Kind, namespace, role.Name))
	}
	for _, subject := range binding.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			all = append(all, keyOf(subject.Kind, subject.Namespace, subject.Name))
		}
	}
	return all
}
