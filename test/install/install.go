// SPDX-License-Identifier: Apache-2.0

// Package install creates Trellis' manifests in a sandbox's seed, as an administrator
// does. It can also create what a seed of a Gardener landscape has instead.
package install

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/config"
)

// The names of the ClusterRoles in config/rbac: the operator's rights in the seed, and those in
// its own namespace.
const (
	operatorRole  = "trellis-operator"
	namespaceRole = "trellis-operator-namespace"
)

// gardener has the manifests of a seed in a Gardener landscape.
//
//go:embed gardener
var gardener embed.FS

// CRDs creates the CRDs that do not exist yet, and waits until the API server serves all
// of them.
func CRDs(ctx context.Context, c client.Client) error {
	return crds(ctx, c, config.Manifests, "crd/*.yaml")
}

// CRD creates one of the CRDs, by the name of its file, if it does not exist yet, and waits until the
// API server serves it.
func CRD(ctx context.Context, c client.Client, file string) error {
	return crds(ctx, c, config.Manifests, "crd/"+file+".yaml")
}

// Gardener creates the CRDs of a Gardener landscape, whose schemas prune Trellis' own
// fields, and the policies that protect Networks from deletion and changes there.
func Gardener(ctx context.Context, c client.Client) error {
	if err := crds(ctx, c, gardener, "gardener/crd/*.yaml"); err != nil {
		return err
	}
	return create(ctx, c, gardener, "gardener/policy/*.yaml")
}

func crds(ctx context.Context, c client.Client, files embed.FS, pattern string) error {
	if err := create(ctx, c, files, pattern); err != nil {
		return err
	}
	const poll, patience = 50 * time.Millisecond, 2 * time.Minute
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		established, all, err := Established(ctx, c)
		return established == all, err
	})
}

// Policies creates the policies for a seed without Gardener. The API server enforces them
// only after a moment.
func Policies(ctx context.Context, c client.Client) error {
	return create(ctx, c, config.Manifests, "policy/*.yaml")
}

// Established returns the number of CRDs that a cluster serves, and of all its CRDs.
func Established(ctx context.Context, c client.Client) (established, all int, err error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(ctx, crds); err != nil {
		return 0, 0, err
	}
	for _, crd := range crds.Items {
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				established++
			}
		}
	}
	return established, len(crds.Items), nil
}

// Rights gives a user the rights of an operator that runs in a mode with this namespace as its
// own, and no others. It replaces the rights of another mode.
func Rights(ctx context.Context, c client.Client, mode configv1alpha1.Mode, user, namespace string) error {
	apply := func(object runtime.ApplyConfiguration) error {
		return c.Apply(ctx, object, client.FieldOwner("install"), client.ForceOwnership)
	}
	err := each(config.Manifests, "rbac/"+strings.ToLower(string(mode))+"/*.yaml", func(role *unstructured.Unstructured) error {
		return apply(client.ApplyConfigurationFromUnstructured(role))
	})
	subject := rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(user)
	role := rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole")
	if err == nil {
		err = apply(rbacv1ac.ClusterRoleBinding(operatorRole).WithSubjects(subject).WithRoleRef(role.WithName(operatorRole)))
	}
	if err == nil {
		err = apply(rbacv1ac.RoleBinding(operatorRole, namespace).WithSubjects(subject).WithRoleRef(role.WithName(namespaceRole)))
	}
	return err
}

// OptionalRights gives a user, in addition, the rights in a folder of config/rbac that only some
// configurations of the operator need.
func OptionalRights(ctx context.Context, c client.Client, folder, user string) error {
	subject := rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(user)
	return each(config.Manifests, "rbac/"+folder+"/*.yaml", func(role *unstructured.Unstructured) error {
		binding := rbacv1ac.ClusterRoleBinding(role.GetName()).WithSubjects(subject).
			WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(role.GetName()))
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(role), client.FieldOwner("install"), client.ForceOwnership); err != nil {
			return err
		}
		return c.Apply(ctx, binding, client.FieldOwner("install"), client.ForceOwnership)
	})
}

func create(ctx context.Context, c client.Client, manifests embed.FS, pattern string) error {
	return each(manifests, pattern, func(object *unstructured.Unstructured) error {
		return client.IgnoreAlreadyExists(c.Create(ctx, object))
	})
}

// each calls install with the object of each file.
func each(manifests embed.FS, pattern string, install func(*unstructured.Unstructured) error) error {
	files, err := fs.Glob(manifests, pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		document, err := manifests.ReadFile(file)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := install(object); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	return nil
}
