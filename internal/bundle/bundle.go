// SPDX-License-Identifier: Apache-2.0

// Package bundle writes objects for another cluster the way that Gardener's
// resource manager reads them: an immutable Secret whose name contains a hash of
// its content, and a ManagedResource that refers to it. It also reads what Gardener's
// extensions have written that way.
package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/plugin"
)

const (
	// dataKey is the one key of a bundle's Secret.
	dataKey = "objects.json"
	// originLabel names the author of a ManagedResource. Gardener's own code leaves
	// alone what carries another value than its own.
	originLabel = "origin"
	// ownerLabel is on the Secrets of a bundle and names its ManagedResource.
	ownerLabel = "trellis.network/managed-resource"
	// noCleanup keeps Gardener's clean-up of a deleted shoot from the objects.
	noCleanup = "shoot.gardener.cloud/no-cleanup"
)

// seedClass makes a resource manager apply objects in the seed itself.
const seedClass = "seed"

// Bundle is a set of objects for one target cluster.
type Bundle struct {
	// Namespace is the shoot's control-plane namespace, Name that of the
	// ManagedResource.
	Namespace, Name string
	// Origin is the value of the label that names its author.
	Origin string
	// Network is the name of the Network that the bundle belongs to; empty if there is
	// none.
	Network string
	// Target is the cluster that the objects are for; empty means the shoot.
	Target plugin.Target
	// Data are the objects, as a stream of documents. They stay as they are from the
	// first question for SecretName on.
	Data []byte

	secretName string
}

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

// Write creates the Secret, then creates or patches the ManagedResource, and returns the
// ManagedResource as it was written, nil if there was nothing to write. current is
// the one last seen, nil if there is none; if there is one nevertheless, Write returns
// an AlreadyExists error. A Write that was interrupted is completed by the next one.
func (b *Bundle) Write(ctx context.Context, c client.Client, current *resourcesv1alpha1.ManagedResource) (*resourcesv1alpha1.ManagedResource, error) {
	if current == nil {
		if err := b.WriteSecret(ctx, c); err != nil {
			return nil, err
		}
		fresh := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: b.Namespace}}
		b.fill(fresh)
		return fresh, c.Create(ctx, fresh)
	}
	wanted := current.DeepCopy()
	b.fill(wanted)
	if apiequality.Semantic.DeepEqual(current, wanted) {
		return nil, nil
	}
	if err := b.WriteSecret(ctx, c); err != nil {
		return nil, err
	}
	if err := b.releaseSecrets(ctx, c, current); err != nil {
		return nil, err
	}
	// Without a lock: the resource manager often writes the status of the same object,
	// and only Trellis writes these fields.
	return wanted, c.Patch(ctx, wanted, client.MergeFrom(current))
}

// releaseSecrets gives the Secrets that a ManagedResource refers to, and will not any more,
// the labels by which they are found once they may be deleted. Those of other authors do
// not have them.
func (b *Bundle) releaseSecrets(ctx context.Context, c client.Client, current *resourcesv1alpha1.ManagedResource) error {
	for _, ref := range current.Spec.SecretRefs {
		if ref.Name == b.SecretName() {
			continue
		}
		secret := metadataOfSecret()
		err := c.Get(ctx, client.ObjectKey{Namespace: current.Namespace, Name: ref.Name}, secret)
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

func metadataOfSecret() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

// Written reports whether current already is what Write would make of it.
func (b *Bundle) Written(current *resourcesv1alpha1.ManagedResource) bool {
	if current == nil || !current.DeletionTimestamp.IsZero() {
		return false
	}
	wanted := current.DeepCopy()
	b.fill(wanted)
	return apiequality.Semantic.DeepEqual(current, wanted)
}

// WriteSecret creates the Secret unless it exists.
func (b *Bundle) WriteSecret(ctx context.Context, c client.Client) error {
	if err := client.IgnoreAlreadyExists(c.Create(ctx, b.secret())); err != nil {
		return fmt.Errorf("write the bundle's Secret: %w", err)
	}
	return nil
}

// fill makes mr what this bundle's ManagedResource must be. Labels and
// annotations of others stay, but for references to older Secrets.
func (b *Bundle) fill(mr *resourcesv1alpha1.ManagedResource) {
	secret := b.SecretName()
	if mr.Labels == nil {
		mr.Labels = map[string]string{}
	}
	mr.Labels[originLabel] = b.Origin
	if b.Network != "" {
		mr.Labels[extensionsv1alpha1.NetworkLabel] = extensionsv1alpha1.NetworkLabelValue(b.Network)
	}
	maps.DeleteFunc(mr.Annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, resourcesv1alpha1.ReferencePrefix)
	})
	if mr.Annotations == nil {
		mr.Annotations = map[string]string{}
	}
	mr.Annotations[resourcesv1alpha1.ReferencePrefix+"secret-"+shortHash([]byte(secret))] = secret
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: secret}}
	keep := false
	mr.Spec.KeepObjects = &keep
	if b.Target == plugin.Seed {
		mr.Spec.Class = ptr.To(seedClass)
		mr.Spec.InjectLabels = nil
	} else {
		mr.Spec.Class = nil
		mr.Spec.InjectLabels = map[string]string{noCleanup: "true"}
	}
}

// TargetOf returns the cluster that the objects of a ManagedResource are for.
func TargetOf(mr *resourcesv1alpha1.ManagedResource) plugin.Target {
	if ptr.Deref(mr.Spec.Class, "") == seedClass {
		return plugin.Seed
	}
	return plugin.Shoot
}

// SecretMissing reports whether the resource manager could not read the bundle's Secret.
// WriteSecret puts it back.
func SecretMissing(mr *resourcesv1alpha1.ManagedResource) bool {
	return condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied).Reason == "CannotReadSecret"
}

// HasSecrets reports whether all Secrets that a ManagedResource refers to are there. Their
// metadata is all that is read, so r may be a cache.
func HasSecrets(ctx context.Context, r client.Reader, mr *resourcesv1alpha1.ManagedResource) (bool, error) {
	for _, ref := range mr.Spec.SecretRefs {
		secret := metadataOfSecret()
		err := r.Get(ctx, client.ObjectKey{Namespace: mr.Namespace, Name: ref.Name}, secret)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for the Secret %s of the ManagedResource %s: %w", ref.Name, mr.Name, err)
		}
	}
	return true, nil
}

// Applied reports whether the resource manager has applied exactly this bundle.
func Applied(mr *resourcesv1alpha1.ManagedResource, secretName string) bool {
	return RefersTo(mr, secretName) && mr.Status.ObservedGeneration == mr.Generation &&
		condition.IsTrue(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
}

// AppliedCondition returns what the resource manager reports about the application of a
// ManagedResource; the zero condition if it has not reported yet. What observes a later
// generation than there is was reported about another ManagedResource.
func AppliedCondition(mr *resourcesv1alpha1.ManagedResource) corev1beta1.Condition {
	if mr == nil || mr.Status.ObservedGeneration > mr.Generation {
		return corev1beta1.Condition{}
	}
	return condition.Value(mr.Status.Conditions, resourcesv1alpha1.ResourcesApplied)
}

// Hinders reports whether something keeps a resource manager from applying. Gardener's
// reports Progressing at the beginning of each pass and keeps the reason, so neither the
// status nor the time of its transition tell for how long; the operation's own time does.
// Obsolete objects that do not go hinder all the others, and are no failure by themselves.
func Hinders(applied corev1beta1.Condition) bool {
	switch applied.Reason {
	case "ApplyFailed", "DeletionFailed", "DeletionPending":
		return true
	}
	return applied.Status == corev1beta1.ConditionFalse
}

// RefersTo reports whether a ManagedResource has the content of exactly this Secret.
func RefersTo(mr *resourcesv1alpha1.ManagedResource, secretName string) bool {
	return len(mr.Spec.SecretRefs) == 1 && mr.Spec.SecretRefs[0].Name == secretName
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
		if isNeeded(&secrets[i], managed[OwnerOf(&secrets[i])]) {
			continue
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, &secrets[i])); err != nil {
			return fmt.Errorf("delete the superseded Secret %s: %w", secrets[i].Name, err)
		}
	}
	return nil
}

// isNeeded reports whether a ManagedResource refers to a Secret, or has not applied yet what
// superseded it.
func isNeeded(secret metav1.Object, mr *resourcesv1alpha1.ManagedResource) bool {
	return mr != nil && (!mr.DeletionTimestamp.IsZero() || len(mr.Spec.SecretRefs) != 1 ||
		mr.Spec.SecretRefs[0].Name == secret.GetName() || !Applied(mr, mr.Spec.SecretRefs[0].Name))
}

// Delete deletes the ManagedResource and the Secrets of a bundle, and reports whether
// they are gone. The inventory in a ManagedResource's status is what its objects are
// deleted by, so a Secret is deleted as soon as its ManagedResource is being deleted,
// but not earlier: the resource manager would miss it. live must not be a cache, which
// may not show yet what was just written.
func Delete(ctx context.Context, c client.Client, live client.Reader, namespace, name string) (gone bool, err error) {
	mr := &resourcesv1alpha1.ManagedResource{}
	err = live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mr)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	gone = err != nil
	if !gone && mr.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(c.Delete(ctx, mr)); err != nil {
			return false, err
		}
	}
	return gone, deleteSecrets(ctx, c, live, namespace, name, mr.Spec.SecretRefs)
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
		foreign := metadataOfSecret()
		err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, foreign)
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

// KeepObjects makes the objects of a ManagedResource, if there is one, outlive it. live
// must not be a cache: see Delete.
func KeepObjects(ctx context.Context, c client.Client, live client.Reader, namespace, name string) error {
	mr := &resourcesv1alpha1.ManagedResource{}
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mr)
	if err == nil && !ptr.Deref(mr.Spec.KeepObjects, false) {
		err = c.Patch(ctx, mr, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"keepObjects":true}}`)))
	}
	return client.IgnoreNotFound(err)
}

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return short(sum[:])
}

func short(sum []byte) string { return hex.EncodeToString(sum)[:8] }
