// SPDX-License-Identifier: Apache-2.0

package system

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceAccount is an identity. Its token is not mounted automatically: pods mount it
// themselves, or get it from the resource manager or, standalone, from Trellis.
func ServiceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:                     TypeMeta("v1", "ServiceAccount"),
		ObjectMeta:                   Named(name, nil),
		AutomountServiceAccountToken: new(false),
	}
}

// ClusterRole is a role with rights in the whole cluster.
func ClusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta:   TypeMeta(rbacv1.SchemeGroupVersion.String(), "ClusterRole"),
		ObjectMeta: ClusterWide(name),
		Rules:      rules,
	}
}

// ClusterRoleBinding gives the subjects the ClusterRole of the same name.
func ClusterRoleBinding(name string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   TypeMeta(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"),
		ObjectMeta: ClusterWide(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   subjects,
	}
}

// Account is a ServiceAccount as a subject.
func Account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: metav1.NamespaceSystem}
}

// Rule allows verbs on resources of one API group.
func Rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}
