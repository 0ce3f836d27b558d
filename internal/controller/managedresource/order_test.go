// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// kindsInOrder are kinds that a network may have, in the order in which the operator must
// apply them, with the fields that each needs besides a name.
var kindsInOrder = []struct {
	apiVersion, kind, plural string
	namespaced               bool
	rest                     map[string]any
}{
	{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false, map[string]any{"value": int64(1)}},
	{"v1", "Namespace", "namespaces", false, nil},
	{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true, map[string]any{"spec": map[string]any{"podSelector": map[string]any{}}}},
	{"v1", "ResourceQuota", "resourcequotas", true, nil},
	{"v1", "LimitRange", "limitranges", true, map[string]any{"spec": map[string]any{"limits": []any{}}}},
	{"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true, nil},
	{"v1", "ServiceAccount", "serviceaccounts", true, nil},
	{"v1", "Secret", "secrets", true, nil},
	{"v1", "ConfigMap", "configmaps", true, nil},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, nil},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false, toRole("ClusterRole")},
	{"rbac.authorization.k8s.io/v1", "Role", "roles", true, nil},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true, toRole("Role")},
	{"v1", "Service", "services", true, map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}},
	{"apps/v1", "DaemonSet", "daemonsets", true, workloadSpec()},
	{"apps/v1", "Deployment", "deployments", true, workloadSpec()},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, map[string]any{"spec": map[string]any{
		"maxReplicas": int64(1), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}}}},
	{"apps/v1", "StatefulSet", "statefulsets", true, workloadSpec()},
	{"batch/v1", "CronJob", "cronjobs", true, map[string]any{"spec": map[string]any{"schedule": "0 0 1 1 *",
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1"}}}}}}}}},
	{"networking.k8s.io/v1", "IngressClass", "ingressclasses", false, map[string]any{"spec": map[string]any{"controller": "example.com/none"}}},
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false, nil},
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false, nil},
	{"coordination.k8s.io/v1", "Lease", "leases", true, nil},
}

func toRole(kind string) map[string]any {
	return map[string]any{"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "none"}}
}

// workloadSpec is of a workload that no node can run, so that no test waits for its pods.
func workloadSpec() map[string]any {
	labels := map[string]any{"app": "ordered"}
	return map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"nodeSelector": map[string]any{"no": "node"},
			"containers":   []any{map[string]any{"name": "c", "image": "registry.example/c:1"}},
		}},
	}}
}

// The operator applies each kind after those that it may need, whatever the order of the
// documents.
func TestAllKindsAreAppliedInOrder(t *testing.T) {
	contract.Shows(t, "R3")
	e := newEnv(t)
	var objects []client.Object
	var expected []string
	for _, each := range kindsInOrder {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		maps.Copy(object.Object, (&unstructured.Unstructured{Object: each.rest}).DeepCopy().Object)
		object.SetAPIVersion(each.apiVersion)
		object.SetKind(each.kind)
		object.SetName(e.namespace + "-ordered")
		if each.namespaced {
			object.SetNamespace(e.namespace)
		}
		objects = append(objects, object)
		expected = append(expected, each.plural)
	}
	slices.Reverse(objects)
	mr := e.state("network", objects...)
	e.operator()
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "True ApplySucceeded"))
	var order []string
	for _, request := range e.audit.writes() {
		if !strings.HasPrefix(request, "shoot PATCH") {
			continue
		}
		parts := strings.Split(request, "/")
		order = append(order, parts[len(parts)-2])
	}
	e.Expect(order).To(Equal(expected))
	e.Expect(e.seed.Delete(e.ctx, mr)).To(Succeed())
	e.isGone(mr)
}

// Kinds that are not in the list come last, by their names; objects of one kind by their
// names. The order does not depend on that of the documents.
func TestTheOrderIsTotal(t *testing.T) {
	contract.Shows(t, "R3")
	var all []*item
	for _, each := range []struct{ group, kind, name string }{
		{"", "ConfigMap", "a"}, {"", "ConfigMap", "b"}, {"apps", "DaemonSet", "a"}, {"b.example.com", "Apple", "z"},
		{"a.example.com", "Widget", "a"}, {"b.example.com", "Widget", "a"}, {"a.example.com", "Widget", "b"},
	} {
		i := &item{}
		i.id.GroupKind, i.id.Name = schema.GroupKind{Group: each.group, Kind: each.kind}, each.name
		all = append(all, i)
	}
	rapid.Check(t, func(t *rapid.T) {
		shuffled := rapid.Permutation(all).Draw(t, "stated")
		sortForApply(shuffled)
		if !slices.Equal(shuffled, all) {
			t.Fatalf("the order is %v", shuffled)
		}
	})
}
