// SPDX-License-Identifier: Apache-2.0

// Package bundle writes objects for another cluster the way that Gardener's
// resource manager reads them: an immutable Secret whose name contains a hash of
// its content, and a ManagedResource that refers to it. It also reads what Gardener's
// extensions have written that way.
package bundle

import (
	"context"
	"crypto/sha256"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
	// originLabel names the author of a ManagedResource. Gardener's own code leaves
	// alone what carries another value than its own.
	originLabel = "origin"
	// noCleanup keeps Gardener's clean-up of a deleted shoot from the objects.
	noCleanup = "shoot.gardener.cloud/no-cleanup"
	// seedClass makes a resource manager apply objects in the seed itself.
	seedClass = "seed"
)

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

// Written reports whether current already is what Write would make of it.
func (b *Bundle) Written(current *resourcesv1alpha1.ManagedResource) bool {
	if current == nil || !current.DeletionTimestamp.IsZero() {
		return false
	}
	wanted := current.DeepCopy()
	b.fill(wanted)
	return apiequality.Semantic.DeepEqual(current, wanted)
}

// fill makes mr what this bundle's ManagedResource must be. Labels and
// annotations of others stay, but for references to older Secrets.
func (b *Bundle) fill(mr *resourcesv1alpha1.ManagedResource) {
	secret := b.SecretName()
	hash := sha256.Sum256([]byte(secret))
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
	mr.Annotations[resourcesv1alpha1.ReferencePrefix+"secret-"+short(hash[:])] = secret
	mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: secret}}
	mr.Spec.KeepObjects = ptr.To(false)
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
