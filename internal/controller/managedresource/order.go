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
