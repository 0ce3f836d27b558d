// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"slices"
)

// applyOrder is the order of kinds in which objects are applied (R3).
// Kinds that are not listed, such as custom resources, come last.
var applyOrder = rank(
	"PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
	"PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap", "StorageClass",
	"PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole",
	"ClusterRoleBinding", "Role", "RoleBinding",
	"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
	"HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
)

func rank(kinds ...string) map[string]int {
	ranks := make(map[string]int, len(kinds))
	for i, kind := range kinds {
		ranks[kind] = i - len(kinds)
	}
	return ranks
}

// sortForApply puts items into the order in which they are applied: by kind,
// unlisted kinds alphabetically at the end; within a kind by name.
func sortForApply(items []*item) {
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(
			cmp.Compare(applyOrder[a.id.Kind], applyOrder[b.id.Kind]),
			cmp.Compare(a.id.Kind, b.id.Kind),
			cmp.Compare(a.id.Name, b.id.Name),
			cmp.Compare(a.id.Namespace, b.id.Namespace),
			cmp.Compare(a.id.Group, b.id.Group),
		)
	})
}

// deletionOrder is the order of kinds in which objects are deleted, in phases. A phase begins
// once the objects of the one before are gone, workloads with their pods. All kinds that are
// not listed are in the phase without kinds.
var deletionOrder = [][]string{
	// Later phases delete what answers these.
	{
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService",
		"MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
	},
	// Pods leave the network by the agents, and agents by their accounts, roles and configuration.
	{"CronJob", "Job", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Pod"},
	{"DaemonSet"},
	{},
	// Controllers with finalizers on custom resources still read these, and a custom
	// resource that is not gone is named.
	{"CustomResourceDefinition"},
}

// deletionPhases divides an inventory into the phases of deletionOrder.
func deletionPhases(refs []reference) [][]reference {
	phases := make([][]reference, len(deletionOrder))
	others := slices.IndexFunc(deletionOrder, func(kinds []string) bool { return len(kinds) == 0 })
	for _, ref := range refs {
		phase := slices.IndexFunc(deletionOrder, func(kinds []string) bool { return slices.Contains(kinds, ref.Kind) })
		if phase < 0 {
			phase = others
		}
		phases[phase] = append(phases[phase], ref)
	}
	return phases
}
