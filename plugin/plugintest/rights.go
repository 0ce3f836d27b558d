// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rights: nobody may do everything, unless somebody says why.
func rights(s *suite, found *report) {
	needed := map[string]bool{}
	for _, d := range s.documents() {
		for _, wildcard := range wildcardsIn(d) {
			needed[wildcard.role] = true
			if _, justified := s.wildcards[wildcard.role]; !justified {
				found.breach("%s %s; name what is needed, or tell Run why it must be so: plugintest.WithWildcard(%q, reason)", d, wildcard.what, wildcard.role)
			}
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.wildcards)) {
		switch {
		case strings.TrimSpace(s.wildcards[role]) == "":
			found.breach("WithWildcard(%q) gives no reason", role)
		case !needed[role]:
			found.breach("WithWildcard(%q) justifies nothing; remove it, since that role has no wildcard", role)
		}
	}
}

// wildcard is a right to everything of some kind.
type wildcard struct{ role, what string }

// ruled are the parts of roles and bindings that matter here.
type ruled struct {
	Rules   []rbacv1.PolicyRule `json:"rules"`
	RoleRef rbacv1.RoleRef      `json:"roleRef"`
	// Subjects of a binding.
	Subjects []rbacv1.Subject `json:"subjects"`
}

func ruledOf(d document) ruled {
	var parsed ruled
	// Whatever is no role or binding has none of the fields.
	_ = json.Unmarshal([]byte(d.raw), &parsed)
	return parsed
}

func wildcardsIn(d document) []wildcard {
	if !d.is(rbacv1.GroupName, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding") {
		return nil
	}
	parsed := ruledOf(d)
	const everything = "cluster-admin"
	if parsed.RoleRef.Name == everything {
		return []wildcard{{d.name, "gives " + everything}}
	}
	var all []wildcard
	for _, rule := range parsed.Rules {
		for _, list := range [][]string{rule.Resources, rule.NonResourceURLs} {
			for _, name := range list {
				if what := partlyEverything(name); what != "" {
					all = append(all, wildcard{d.name, what})
				}
			}
		}
		for what, list := range map[string][]string{
			"has a right in all API groups": rule.APIGroups,
			"has a right to all resources":  rule.Resources,
			"has a right to all verbs":      rule.Verbs,
			"has a right to all URLs":       rule.NonResourceURLs,
		} {
			if slices.Contains(list, rbacv1.VerbAll) {
				all = append(all, wildcard{d.name, what})
			}
		}
	}
	slices.SortFunc(all, func(a, b wildcard) int { return strings.Compare(a.what, b.what) })
	return all
}

// partlyEverything says what a right is to that has a wildcard in a part of its name. In
// names of resources API servers know one before a subresource; one in its place gives
// nothing, and whoever writes it believes that it does.
func partlyEverything(name string) string {
	if name == rbacv1.ResourceAll || !strings.Contains(name, rbacv1.ResourceAll) {
		return ""
	}
	before, after, _ := strings.Cut(name, "/")
	switch {
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
func bindingReferences(d document) []reference {
	parsed := ruledOf(d)
	var all []reference
	if role := parsed.RoleRef; !strings.HasPrefix(role.Name, "system:") && !slices.Contains([]string{"cluster-admin", "admin", "edit", "view"}, role.Name) {
		namespace := ""
		if role.Kind == "Role" {
			namespace = d.namespace
		}
		all = append(all, reference{d.String(), keyOf(role.Kind, namespace, role.Name)})
	}
	for _, subject := range parsed.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind {
			all = append(all, reference{d.String(), keyOf(subject.Kind, subject.Namespace, subject.Name)})
		}
	}
	return all
}
