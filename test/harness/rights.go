// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Right is the permission for one kind of request, as a rule of RBAC gives it.
type Right struct {
	Verb, Group string
	// Resource is in the plural, with a subresource after a slash. A path that is no object's
	// begins with a slash.
	Resource string
	// Name is that of the only object; empty means any.
	Name string
	// Own means that the right is for objects in the namespace of its owner only.
	Own bool
}

// String is the right in words.
func (r Right) String() string {
	words := r.Verb + " " + r.Resource
	if r.Group != "" {
		words += "." + r.Group
	}
	if r.Name != "" {
		words += " " + r.Name
	}
	if r.Own {
		return words + " in its own namespace"
	}
	return words + " in the whole cluster"
}

// Rights returns what the API server says a user may do in its own namespace and in the whole
// cluster, as `kubectl auth can-i --list` does. What all service accounts may do is left out.
func (c *Cluster) Rights(tb testing.TB, user, namespace string) sets.Set[Right] {
	tb.Helper()
	const nowhere = "where-no-role-is-bound" // the rules there are those for the whole cluster
	everywhere := c.rules(tb, user, nowhere)
	rights := everywhere.Difference(c.rules(tb, "system:serviceaccount:"+nowhere+":without-rights", nowhere))
	return rights.Union(OwnRights(c.rules(tb, user, namespace).Difference(everywhere)))
}

// OwnRights returns rights as for the namespace of their owner only.
func OwnRights(rights sets.Set[Right]) sets.Set[Right] {
	own := sets.New[Right]()
	for right := range rights {
		right.Own = true
		own.Insert(right)
	}
	return own
}

// rules returns the rules that apply to a user in a namespace.
func (c *Cluster) rules(tb testing.TB, user, namespace string) sets.Set[Right] {
	tb.Helper()
	config := rest.CopyConfig(c.Config)
	config.Impersonate.UserName = user
	as, err := client.New(config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		tb.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := as.Create(tb.Context(), review); err != nil {
		tb.Fatal(fmt.Errorf("ask for the rules of %s in the namespace %s: %w", user, namespace, err))
	}
	var rules []rbacv1.PolicyRule
	for _, rule := range review.Status.ResourceRules {
		rules = append(rules, rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
	}
	for _, rule := range review.Status.NonResourceRules {
		rules = append(rules, rbacv1.PolicyRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
	}
	return RightsOf(rules)
}

// RightsOf returns what the rules of a role give, as for the whole cluster.
func RightsOf(rules []rbacv1.PolicyRule) sets.Set[Right] {
	rights := sets.New[Right]()
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						rights.Insert(Right{Verb: verb, Group: group, Resource: resource, Name: name})
					}
				}
			}
			for _, path := range rule.NonResourceURLs {
				rights.Insert(Right{Verb: verb, Resource: path})
			}
		}
	}
	return rights
}
