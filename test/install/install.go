// SPDX-License-Identifier: Apache-2.0

// Package install creates Trellis' manifests in a sandbox's seed, as an administrator
// does. It can also create what a seed of a Gardener landscape has instead.
package install

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/config"
)

// operatorRole is the name of the ClusterRole in config/rbac.
const operatorRole = "trellis-operator"

// gardener has the manifests of a seed in a Gardener landscape.
//
//go:embed gardener
var gardener embed.FS

// CRDs creates the CRDs that do not exist yet, and waits until the API server serves all
// of them.
func CRDs(ctx context.Context, c client.Client) error {
	return crds(ctx, c, config.Manifests, "crd/*.yaml")
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
	const poll, patience = 50 * time.Millisecond, 30 * time.Second
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

// Rights gives a user the operator's rights, and no others.
func Rights(ctx context.Context, c client.Client, user string) error {
	if err := create(ctx, c, config.Manifests, "rbac/*.yaml"); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: operatorRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	return client.IgnoreAlreadyExists(c.Create(ctx, binding))
}

func create(ctx context.Context, c client.Client, manifests embed.FS, pattern string) error {
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
		if err := client.IgnoreAlreadyExists(c.Create(ctx, object)); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	return nil
}
