// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// changeKind puts another object where one of a kind was.
func changeKind(kind string, to func() plugin.Object) func(*fake[config]) {
	return func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if o.GetObjectKind().GroupVersionKind().Kind == kind {
				return to()
			}
			return o
		})
	}
}

// changeRole gives the role another rule.
func changeRole(rule rbacv1.PolicyRule) func(*fake[config]) {
	return changeKind("ClusterRole", func() plugin.Object { return system.ClusterRole("agent", *rule.DeepCopy()) })
}

// brokenRights are too many, or are justified and not there.
var brokenRights = []broken{
	{check: "rights", how: "all verbs", says: `ClusterRole agent has a right to all verbs; name what is needed, or justify it: plugintest.WithWildcard("ClusterRole agent", reason)`,
		wrong: changeRole(system.Rule("", []string{"nodes"}, "*"))},
	{check: "rights", how: "all resources", says: "has a right to all resources", wrong: changeRole(system.Rule("", []string{"*"}, "get"))},
	{check: "rights", how: "all groups", says: "has a right in all API groups", wrong: changeRole(system.Rule("*", []string{"nodes"}, "get"))},
	{check: "rights", how: "the status of all resources", says: `ClusterRole agent has a right to status of all resources ("*/status"); name what is needed`,
		wrong: changeRole(system.Rule("apps", []string{"*/status"}, "patch"))},
	{check: "rights", how: "all subresources", says: `has a right to all subresources of pods ("pods/*")`,
		wrong: changeRole(system.Rule("", []string{"pods/*"}, "create"))},
	{check: "rights", how: "all URLs there are", says: `has a right to all URLs like "/*"`,
		wrong: changeRole(rbacv1.PolicyRule{NonResourceURLs: []string{"/*"}, Verbs: []string{"get"}})},
	{check: "rights", how: "everything", says: "ClusterRoleBinding agent gives cluster-admin", wrong: changeKind("ClusterRoleBinding", func() plugin.Object {
		binding := system.ClusterRoleBinding("agent", system.Account("agent"))
		binding.RoleRef.Name = everything
		return binding
	})},
	{check: "rights", how: "all roles there are", says: "ClusterRole agent has all rights of all ClusterRoles", wrong: changeKind("ClusterRole", func() plugin.Object {
		role := system.ClusterRole("agent")
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}
		return role
	})},
	{check: "rights", how: "the group of administrators", says: "ClusterRoleBinding agent gives its role to the group system:masters", wrong: changeKind("ClusterRoleBinding", func() plugin.Object {
		binding := system.ClusterRoleBinding("agent", system.Account("agent"))
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: masters})
		return binding
	})},
	{check: "rights", how: "a reason for something else of that name", says: `plugintest.WithWildcard("ClusterRole agent", reason)`, wrong: changeRole(system.Rule("", []string{"nodes"}, "*")),
		options: []Option{WithWildcard("Role kube-system/agent", "it owns what it looks at")}},
	{check: "rights", how: "no reason", says: `WithWildcard("ClusterRole agent") gives no reason`, wrong: changeRole(system.Rule("", []string{"nodes"}, "*")),
		options: []Option{WithWildcard("ClusterRole agent", "")}},
	{check: "rights", how: "a reason for nothing", says: `WithWildcard("ClusterRole agent") justifies nothing`,
		options: []Option{WithWildcard("ClusterRole agent", "it was needed once")}},
}

func TestAWildcardCanBeJustified(t *testing.T) {
	b := broken{wrong: changeRole(system.Rule("", []string{"nodes"}, "*")), options: []Option{WithWildcard("ClusterRole agent", "it owns what it looks at")}}
	NewWithT(t).Expect(problems(t, b.make(), b.allOptions(t))).To(BeEmpty())
}

func TestWildcardsAreFoundWhereverTheyStand(t *testing.T) {
	for name, found := range map[string]string{
		"*": "all resources", "*/*": "* of all resources", "*/scale": "scale of all resources", "pods/*": "all subresources of pods",
		"pods/exec": "", "pods": "", "nodes/proxy": "",
	} {
		expectWildcard(t, system.Rule("", []string{"services", name}, "get"), found)
	}
	for name, found := range map[string]string{"*": "all URLs", "/*": `all URLs like "/*"`, "/metrics/*": `all URLs like "/metrics/*"`, "/metrics": ""} {
		expectWildcard(t, rbacv1.PolicyRule{NonResourceURLs: []string{name}, Verbs: []string{"get"}}, found)
	}
}

func expectWildcard(t *testing.T, rule rbacv1.PolicyRule, found string) {
	t.Helper()
	g := NewWithT(t)
	all := wildcardsIn(documentOf(system.ClusterRole("agent", rule)))
	if found == "" {
		g.Expect(all).To(BeEmpty())
		return
	}
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0]).To(ContainSubstring(found))
}
