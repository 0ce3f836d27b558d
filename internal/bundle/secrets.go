// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// dataKey is the one key of a bundle's Secret.
	dataKey = "objects.json"
	// ownerLabel is on the Secrets of a bundle and names its ManagedResource.
	ownerLabel = "trellis.network/managed-resource"
)

// SecretName is the name of the Secret with exactly this content: with a hash of the
// Secret's data as they are in JSON, like that of Gardener's own Secrets.
func (b *Bundle) SecretName() string {
	if b.secretName == "" {
		hash := sha256.New()
		fmt.Fprintf(hash, `{%q:"`, dataKey)
		encoder := base64.NewEncoder(base64.StdEncoding, hash)
		_, _ = encoder.Write(b.Data) // a hash takes everything
		_ = encoder.Close()
		fmt.Fprint(hash, `"}`)
		b.secretName = "managedresource-" + b.Name + "-" + short(hash.Sum(nil))
	}
	return b.secretName
}

func (b *Bundle) secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: b.SecretName(), Namespace: b.Namespace, Labels: b.secretLabels()},
		Type:       corev1.SecretTypeOpaque,
		Immutable:  ptr.To(true),
		Data:       map[string][]byte{dataKey: b.Data},
	}
}

// secretLabels are the labels of the Secrets of the bundle. Gardener's garbage collector
// looks for the first, DeleteSuperseded for the others.
func (b *Bundle) secretLabels() map[string]string {
	labels := map[string]string{resourcesv1alpha1.GarbageCollectable: "true", ownerLabel: b.Name}
	if b.Network != "" {
		labels[extensionsv1alpha1.NetworkLabel] = extensionsv1alpha1.NetworkLabelValue(b.Network)
	}
	return labels
}

func short(sum []byte) string { return hex.EncodeToString(sum)[:8] }

// WriteSecret creates the Secret unless it exists.
func (b *Bundle) WriteSecret(ctx context.Context, c client.Client) error {
	if err := client.IgnoreAlreadyExists(c.Create(ctx, b.secret())); err != nil {
		return fmt.Errorf("write the bundle's Secret: %w", err)
	}
	return nil
}

// HasSecrets reports whether all Secrets that a ManagedResource refers to are there. Their
// metadata is all that is read, so r may be a cache.
func HasSecrets(ctx context.Context, r client.Reader, mr *resourcesv1alpha1.ManagedResource) (bool, error) {
	for _, ref := range mr.Spec.SecretRefs {
		_, err := secretNamed(ctx, r, mr.Namespace, ref.Name)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for the Secret %s of the ManagedResource %s: %w", ref.Name, mr.Name, err)
		}
	}
	return true, nil
}

// releaseSecrets gives the Secrets that a ManagedResource refers to, and will not any more,
// the labels by which they are found once they may be deleted. Those of other authors do
// not have them.
func (b *Bundle) releaseSecrets(ctx context.Context, c client.Client, current *resourcesv1alpha1.ManagedResource) error {
	for _, ref := range current.Spec.SecretRefs {
		if ref.Name == b.SecretName() {
			continue
		}
		secret, err := secretNamed(ctx, c, current.Namespace, ref.Name)
		if err == nil {
			before := secret.DeepCopy()
			if secret.Labels == nil {
				secret.Labels = map[string]string{}
			}
			maps.Copy(secret.Labels, b.secretLabels())
			if !maps.Equal(before.Labels, secret.Labels) {
				err = c.Patch(ctx, secret, client.MergeFrom(before))
			}
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release the Secret %s: %w", ref.Name, err)
		}
	}
	return nil
}

// secretNamed reads the metadata of a Secret.
func secretNamed(ctx context.Context, r client.Reader, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret, r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
}

// OwnerOf returns the name of the ManagedResource whose bundle a Secret holds or has held,
// empty for other Secrets.
func OwnerOf(secret metav1.Object) string { return secret.GetLabels()[ownerLabel] }

// LabelsOf returns the labels of all Secrets that hold or have held the bundle of a
// ManagedResource.
func LabelsOf(name string) client.MatchingLabels { return client.MatchingLabels{ownerLabel: name} }

// secretsWith lists the metadata of all Secrets with these labels.
func secretsWith(ctx context.Context, r client.Reader, namespace string, labels client.MatchingLabels) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.List(ctx, list, client.InNamespace(namespace), labels)
	return list.Items, err
}

// DeleteSuperseded deletes those of the Secrets with these labels that no bundle needs any
// more: those with former content, once the present content is applied, and all of a bundle
// without ManagedResource. In a landscape, Gardener's garbage collector does that (R25).
// managed has the ManagedResources of all bundles with these labels, by name. r may be a
// cache.
func DeleteSuperseded(ctx context.Context, c client.Client, r client.Reader, namespace string, labels client.MatchingLabels, managed map[string]*resourcesv1alpha1.ManagedResource) error {
	secrets, err := secretsWith(ctx, r, namespace, labels)
	if err != nil {
		return fmt.Errorf("list the Secrets of bundles: %w", err)
	}
	for i := range secrets {
		if !IsSuperseded(&secrets[i], managed[OwnerOf(&secrets[i])]) {
			continue
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, &secrets[i])); err != nil {
			return fmt.Errorf("delete the superseded Secret %s: %w", secrets[i].Name, err)
		}
	}
	return nil
}

// IsSuperseded reports whether a bundle needs its Secret no more: its ManagedResource has applied
// another one, or is nil.
func IsSuperseded(secret metav1.Object, mr *resourcesv1alpha1.ManagedResource) bool {
	return mr == nil || mr.DeletionTimestamp.IsZero() && len(mr.Spec.SecretRefs) == 1 &&
		mr.Spec.SecretRefs[0].Name != secret.GetName() && Applied(mr, mr.Spec.SecretRefs[0].Name)
}

// deleteSecrets deletes the Secrets of a bundle, and those of other authors that its
// ManagedResource refers to.
func deleteSecrets(ctx context.Context, c client.Client, live client.Reader, namespace, name string, refs []corev1.LocalObjectReference) error {
	secrets, err := secretsWith(ctx, live, namespace, LabelsOf(name))
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if slices.ContainsFunc(secrets, func(s metav1.PartialObjectMetadata) bool { return s.Name == ref.Name }) {
			continue
		}
		foreign, err := secretNamed(ctx, live, namespace, ref.Name)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			secrets = append(secrets, *foreign)
		}
	}
	for i := range secrets {
		if err := client.IgnoreNotFound(c.Delete(ctx, &secrets[i])); err != nil {
			return err
		}
	}
	return nil
}
