// SPDX-License-Identifier: Apache-2.0

// Package bundle writes objects for another cluster the way that Gardener's
// resource manager reads them: an immutable Secret whose name contains a hash of
// its content, and a ManagedResource that refers to it (Gardener contract, L1 to L8).
//
// It also reads what is written that way, whoever wrote it. It refuses to know
// what the objects are for, and what becomes of them.
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

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

const (
	// dataKey is the one key of a bundle's Secret.
	dataKey = "objects.json"
	// originLabel tells who made a ManagedResource. Gardener's own code leaves
	// alone what carries another value than its own.
	originLabel = "origin"
	// ownerLabel is on the Secrets of a bundle and names its ManagedResource.
	ownerLabel = "trellis.network/managed-resource"
	// noCleanup keeps Gardener's clean-up of a deleted shoot from the objects.
	noCleanup = "shoot.gardener.cloud/no-cleanup"
	// secretPrefix begins the name of a bundle's Secret.
	secretPrefix = "managedresource-"
	// hashLength is how many digits of a hash are part of a name.
	hashLength = 8
)

// Bundle is a set of objects for one target cluster.
type Bundle struct {
	// Namespace is the shoot's control-plane namespace, Name that of the
	// ManagedResource.
	Namespace, Name string
	// Origin is the value of the label which tells who made it.
	Origin string
	// Class of the ManagedResource; empty means that the target is the shoot.
	Class string
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
		b.secretName = secretPrefix + b.Name + "-" + short(hash.Sum(nil))
	}
	return b.secretName
}

func (b *Bundle) secret() *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: b.SecretName(), Namespace: b.Namespace,
			Labels: map[string]string{
				resourcesv1alpha1.GarbageCollectable: "true",
				ownerLabel:                           b.Name,
			},
		},
		Type:      corev1.SecretTypeOpaque,
		Immutable: &immutable,
		Data:      map[string][]byte{dataKey: b.Data},
	}
}

// Write brings the Secret and then the ManagedResource into being, and returns the
// ManagedResource as it was written, nil if there was nothing to write. current is
// the one last seen, nil if there is none; that there is one all the same is an error,
// since it may have other content. It is safe to be killed in between: the next Write
// goes on where this one stopped.
func (b *Bundle) Write(ctx context.Context, c client.Client, current *resourcesv1alpha1.ManagedResource) (*resourcesv1alpha1.ManagedResource, error) {
	if current == nil {
		if err := b.WriteSecret(ctx, c); err != nil {
			return nil, err
		}
		fresh := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: b.Namespace}}
		b.shape(fresh)
		return fresh, c.Create(ctx, fresh)
	}
	wanted := current.DeepCopy()
	b.shape(wanted)
	if apiequality.Semantic.DeepEqual(current, wanted) {
		return nil, nil
	}
	if err := b.WriteSecret(ctx, c); err != nil {
		return nil, err
	}
	if err := releaseSecrets(ctx, c, current, b.SecretName()); err != nil {
		return nil, err
	}
	// Without a lock: the resource manager writes the status of the same object all
	// the time, and nobody else these fields.
	return wanted, c.Patch(ctx, wanted, client.MergeFrom(current))
}

// releaseSecrets leaves to a garbage collector what a ManagedResource refers to and
// will not any more. Secrets of bundles are so from the start; those of whoever
// wrote the ManagedResource before may not be.
func releaseSecrets(ctx context.Context, c client.Client, current *resourcesv1alpha1.ManagedResource, wanted string) error {
	collectable := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, resourcesv1alpha1.GarbageCollectable))
	for _, ref := range current.Spec.SecretRefs {
		if ref.Name == wanted {
			continue
		}
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := c.Get(ctx, client.ObjectKey{Namespace: current.Namespace, Name: ref.Name}, secret)
		if err == nil && secret.Labels[resourcesv1alpha1.GarbageCollectable] != "true" {
			err = c.Patch(ctx, secret, collectable)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("leave the Secret %s to the garbage collector: %w", ref.Name, err)
		}
	}
	return nil
}

// Written says whether current already is what Write would make of it.
func (b *Bundle) Written(current *resourcesv1alpha1.ManagedResource) bool {
	if current == nil || !current.DeletionTimestamp.IsZero() {
		return false
	}
	wanted := current.DeepCopy()
	b.shape(wanted)
	return apiequality.Semantic.DeepEqual(current, wanted)
}

// WriteSecret brings the Secret into being, if it is not there.
func (b *Bundle) WriteSecret(ctx context.Context, c client.Client) error {
	if err := client.IgnoreAlreadyExists(c.Create(ctx, b.secret())); err != nil {
		return fmt.Errorf("write the bundle's Secret: %w", err)
	}
	return nil
}

// shape makes mr what this bundle's ManagedResource has to be. Labels and
// annotations of others stay, but for references to older Secrets.
func (b *Bundle) shape(mr *resourcesv1alpha1.ManagedResource) {
	secret := b.SecretName()
	if mr.Labels == nil {
		mr.Labels = map[string]string{}
	}
	mr.Labels[originLabel] = b.Origin
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
	if b.Class == "" {
		mr.Spec.Class = nil
		mr.Spec.InjectLabels = map[string]string{noCleanup: "true"}
	} else {
		mr.Spec.Class = &b.Class
		mr.Spec.InjectLabels = nil
	}
}

// SecretMissing says whether the resource manager could not read the bundle's
// Secret: somebody has deleted it, and WriteSecret puts it back.
func SecretMissing(mr *resourcesv1alpha1.ManagedResource) bool {
	for _, condition := range mr.Status.Conditions {
		if condition.Type == resourcesv1alpha1.ResourcesApplied {
			return condition.Reason == "CannotReadSecret"
		}
	}
	return false
}

// HasSecrets says whether all Secrets that a ManagedResource refers to are there. Their
// metadata is all that is read, so r may be a cache.
func HasSecrets(ctx context.Context, r client.Reader, mr *resourcesv1alpha1.ManagedResource) (bool, error) {
	for _, ref := range mr.Spec.SecretRefs {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
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

// Applied says whether the resource manager has applied exactly this bundle.
func Applied(mr *resourcesv1alpha1.ManagedResource, secretName string) bool {
	return refersTo(mr, secretName) && mr.Status.ObservedGeneration == mr.Generation &&
		conditionStatus(mr, resourcesv1alpha1.ResourcesApplied) == "True"
}

func refersTo(mr *resourcesv1alpha1.ManagedResource, secretName string) bool {
	return len(mr.Spec.SecretRefs) == 1 && mr.Spec.SecretRefs[0].Name == secretName
}

func conditionStatus(mr *resourcesv1alpha1.ManagedResource, conditionType string) string {
	for _, condition := range mr.Status.Conditions {
		if condition.Type == conditionType {
			return string(condition.Status)
		}
	}
	return ""
}

// OwnerOf is the name of the ManagedResource whose bundle a Secret holds or has held, or
// empty for a Secret of others.
func OwnerOf(secret metav1.Object) string { return secret.GetLabels()[ownerLabel] }

// secretsOf lists the metadata of all Secrets of a bundle.
func secretsOf(ctx context.Context, r client.Reader, namespace, name string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{ownerLabel: name})
	return list.Items, err
}

// Delete deletes the ManagedResources of some bundles, one after the other: each
// only when the one before it is gone. It says whether all are, and their Secrets.
// The inventory in a ManagedResource's status is what its objects are deleted by,
// so a Secret goes as soon as its ManagedResource is being deleted, but not before:
// until then the resource manager would miss it. live must not be a cache, which
// would take for gone what was only just made.
func Delete(ctx context.Context, c client.Client, live client.Reader, namespace string, names ...string) (gone bool, err error) {
	for _, name := range names {
		mr := &resourcesv1alpha1.ManagedResource{}
		err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mr)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		there := err == nil
		if there && mr.DeletionTimestamp.IsZero() {
			if err := client.IgnoreNotFound(c.Delete(ctx, mr)); err != nil {
				return false, err
			}
		}
		if err := deleteSecrets(ctx, c, live, namespace, name, mr.Spec.SecretRefs); err != nil || there {
			return false, err
		}
	}
	return true, nil
}

// deleteSecrets deletes the Secrets of a bundle, and those that its ManagedResource
// refers to, whoever has made them.
func deleteSecrets(ctx context.Context, c client.Client, live client.Reader, namespace, name string, refs []corev1.LocalObjectReference) error {
	secrets, err := secretsOf(ctx, live, namespace, name)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if slices.ContainsFunc(secrets, func(s metav1.PartialObjectMetadata) bool { return s.Name == ref.Name }) {
			continue
		}
		foreign := metav1.PartialObjectMetadata{}
		foreign.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &foreign)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			secrets = append(secrets, foreign)
		}
	}
	for i := range secrets {
		if err := client.IgnoreNotFound(c.Delete(ctx, &secrets[i])); err != nil {
			return err
		}
	}
	return nil
}

// KeepObjects makes the objects of some ManagedResources outlive them. One that is
// not there has none. live must not be a cache: see Delete.
func KeepObjects(ctx context.Context, c client.Client, live client.Reader, namespace string, names ...string) error {
	keep := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"keepObjects":true}}`))
	for _, name := range names {
		mr := &resourcesv1alpha1.ManagedResource{}
		err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mr)
		if err == nil && !ptr.Deref(mr.Spec.KeepObjects, false) {
			err = c.Patch(ctx, mr, keep)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return short(sum[:])
}

func short(sum []byte) string { return hex.EncodeToString(sum)[:hashLength] }
