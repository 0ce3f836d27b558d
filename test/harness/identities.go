// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InstallIdentity applies those objects of a chart that make an identity: its service account, its
// roles, and what binds them. It returns the rights that the roles state. Those of a Role are for the
// namespace of the identity. What a former release granted with the same names is replaced.
func (c *Cluster) InstallIdentity(tb testing.TB, objects []*unstructured.Unstructured) sets.Set[Right] {
	tb.Helper()
	stated := sets.New[Right]()
	for _, object := range objects {
		role := &rbacv1.ClusterRole{} // a Role has the same rules
		switch object.GetKind() {
		case "ClusterRole", "Role":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				tb.Fatal(err)
			}
			rights := RightsOf(role.Rules)
			if object.GetKind() == "Role" {
				rights = OwnRights(rights)
			}
			stated = stated.Union(rights)
		case "ServiceAccount", "ClusterRoleBinding", "RoleBinding":
		default:
			continue
		}
		applied := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.Apply(tb.Context(), applied, client.FieldOwner("helm"), client.ForceOwnership); err != nil {
			tb.Fatal(err)
		}
	}
	return stated
}
