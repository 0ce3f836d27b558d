// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// DeleteSuperseded deletes the Secrets that bundles do not need any more: those with former
// content, once the present content is applied, and all of a bundle without
// ManagedResource. It does what Gardener's garbage collector does in a landscape (Gardener
// contract, R25). there has the ManagedResource of each bundle of a Network by its name, or
// nil. cached may be a cache: only metadata is read, and no request is sent if there is
// nothing to delete.
func DeleteSuperseded(ctx context.Context, c client.Client, cached client.Reader, namespace string, there map[string]*resourcesv1alpha1.ManagedResource) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := cached.List(ctx, secrets, client.InNamespace(namespace), client.HasLabels{resourcesv1alpha1.GarbageCollectable})
	if err != nil {
		return fmt.Errorf("look for superseded Secrets: %w", err)
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		mr, known := there[managedResourceOf(secret.Name)]
		if !known || needs(mr, secret.Name) {
			continue
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("delete the superseded Secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// needs reports whether a ManagedResource refers to a Secret, or may still have to do with
// it: it is being deleted, or its present content is not applied.
func needs(mr *resourcesv1alpha1.ManagedResource, secret string) bool {
	return mr != nil && (!mr.DeletionTimestamp.IsZero() || len(mr.Spec.SecretRefs) != 1 ||
		mr.Spec.SecretRefs[0].Name == secret || !Applied(mr, mr.Spec.SecretRefs[0].Name))
}

// managedResourceOf returns the name of the ManagedResource whose content a Secret has or
// had, or "" (Gardener contract, L5).
func managedResourceOf(secret string) string {
	name, ours := strings.CutPrefix(secret, secretPrefix)
	if hash := len(name) - hashLength; ours && hash > 0 && name[hash-1] == '-' {
		return name[:hash-1]
	}
	return ""
}
