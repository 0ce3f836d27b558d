// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/bundle"
)

// content is what the Secrets hold.
type content struct {
	documents []bundle.Document
	problems  []string
	// inputs names the versions of all that it depends on.
	inputs string
}

// carryOut makes the shoot what the ManagedResource states, and judges health.
func (p *pass) carryOut(ctx context.Context) error {
	if err := p.adopt(ctx); err != nil {
		return err
	}
	inputs, err := p.inputs(ctx)
	if err != nil {
		return err
	}
	var c *content
	if !p.isCompleteFor(inputs) {
		if c, err = p.read(ctx); err != nil {
			return fail(reasonCannotReadSecret, err)
		}
	}
	if p.shoot, err = p.options.Shoots.For(ctx, p.mr.Namespace); err != nil {
		return p.accessError(reasonApplyFailed, err)
	}
	if c == nil {
		if p.isIntact(ctx) && !p.hasAppeared(ctx) {
			return p.judgeAgain(ctx)
		}
		if c, err = p.read(ctx); err != nil {
			return fail(reasonCannotReadSecret, err)
		}
	}
	if err := p.realize(ctx, c); err != nil {
		return err
	}
	return p.judgeAgain(ctx)
}

func (p *pass) judgeAgain(ctx context.Context) (err error) {
	if p.again, err = p.judge(ctx); err != nil {
		p.cannotJudge(err)
	}
	return err
}

// accessError makes a failure of an error that is about the shoot; others are
// about the seed and no concern of the conditions.
func (p *pass) accessError(reason string, err error) error {
	if isAboutShoot(err) {
		return fail(reason, err)
	}
	return err
}

// realize does the steps 6 to 14 of section 3.6.
func (p *pass) realize(ctx context.Context, c *content) error {
	d, err := (&composer{mr: p.mr, options: &p.options, namespaced: p.namespaced, served: p.remembering(ctx)}).compose(c.documents, c.problems)
	if err != nil {
		return fail(reasonApplyFailed, p.shoot.Failure(err))
	}
	old := p.inScope(p.mr.Status.Resources)
	wanted, obsolete := d.inventory, p.obsolete(old, d)
	if len(d.problems) > 0 {
		// What could not be decoded may be any of them.
		wanted, obsolete = union(d.inventory, without(old, d.inventory)), nil
	}
	if !sameInventory(old, wanted) || ptr.Deref(p.mr.Status.SecretsDataChecksum, "") != d.checksum {
		p.applying()
		p.mr.Status.Resources = union(old, d.inventory)
		if err := p.writeStatus(ctx); err != nil {
			return err
		}
	}
	if err := p.prune(ctx, obsolete); err != nil {
		return err
	}
	if err := p.release(ctx, d.released); err != nil {
		return err
	}
	if err := p.apply(ctx, d); err != nil {
		return err
	}
	p.mr.Status.Resources = wanted
	p.mr.Status.SecretsDataChecksum = &d.checksum
	p.mr.Status.ObservedGeneration = p.mr.Generation
	if len(d.problems) > 0 {
		return fail(reasonDecodingFailed, errors.New(strings.Join(d.problems, "; ")))
	}
	p.record.complete(c.inputs, d)
	p.setApplied(corev1beta1.ConditionTrue, reasonApplySucceeded, "All resources are applied."+leftOutMessage(d.leftOut))
	return nil
}

// inScope returns an inventory without namespaces of cluster-scoped objects.
// Gardener's resource manager gives one to objects of kinds that it did not know
// yet; taken by the letter, they would be other objects, and obsolete.
func (p *pass) inScope(inventory []reference) []reference {
	settled := slices.Clone(inventory)
	for i := range settled {
		if settled[i].Namespace == "" {
			continue
		}
		if namespaced, err := p.namespaced(kindOf(&settled[i])); err == nil && !namespaced {
			settled[i].Namespace = ""
		}
	}
	return settled
}

// obsolete returns what was applied and is neither wanted nor released, under any
// equivalent kind.
func (p *pass) obsolete(old []reference, d *desired) []reference {
	kept := map[identity]bool{}
	for i := range d.inventory {
		kept[p.same.of(identityOf(&d.inventory[i]))] = true
	}
	for _, id := range d.released {
		kept[p.same.of(id)] = true
	}
	return slices.DeleteFunc(slices.Clone(old), func(ref reference) bool { return kept[p.same.of(identityOf(&ref))] })
}

// isCompleteFor says whether the last pass was complete and about the same.
func (p *pass) isCompleteFor(inputs string) bool {
	return inputs != "" && p.record.inputs == inputs && isApplied(p.mr) && p.mr.Status.ObservedGeneration == p.mr.Generation
}

// isIntact says whether all objects are in the cache as they were when they were
// last right.
func (p *pass) isIntact(ctx context.Context) bool {
	for _, each := range p.record.items {
		cached, err := p.shoot.Cached(ctx, kindOf(&each.ref), each.id.NamespacedName)
		if err != nil || !each.createOnly && !p.record.isRight(each, cached) {
			return false
		}
	}
	return true
}

// inputs names the versions of what the ManagedResource depends on, from the
// cache. Where the cache does not have a Secret the result matches nothing.
func (p *pass) inputs(ctx context.Context) (string, error) {
	secrets := make([]metav1.Object, 0, len(p.mr.Spec.SecretRefs))
	for _, ref := range p.mr.Spec.SecretRefs {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := p.client.Get(ctx, client.ObjectKey{Namespace: p.mr.Namespace, Name: ref.Name}, secret)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		secrets = append(secrets, secret)
	}
	return p.inputsOf(secrets), nil
}

func (p *pass) inputsOf(secrets []metav1.Object) string {
	inputs := fmt.Sprintf("generation %d", p.mr.Generation)
	for _, secret := range secrets {
		inputs += fmt.Sprintf(", %s %s %s", secret.GetName(), secret.GetUID(), secret.GetResourceVersion())
	}
	return inputs
}

// read reads and decodes all Secrets.
func (p *pass) read(ctx context.Context) (*content, error) {
	c := &content{}
	var secrets []metav1.Object
	for _, ref := range p.mr.Spec.SecretRefs {
		secret := &corev1.Secret{}
		if err := p.secrets.Get(ctx, client.ObjectKey{Namespace: p.mr.Namespace, Name: ref.Name}, secret); err != nil {
			return nil, fmt.Errorf("cannot read Secret %s: %w", ref.Name, err)
		}
		documents, problems := bundle.Decode(secret.Name, secret.Data)
		c.documents, c.problems = append(c.documents, documents...), append(c.problems, problems...)
		secrets = append(secrets, secret)
	}
	c.inputs = p.inputsOf(secrets)
	return c, nil
}

// namespaced says whether the objects of a kind are in namespaces. Of a kind
// that the shoot does not know that is assumed.
func (p *pass) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := p.shoot.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// remove deletes all objects, and then lets the ManagedResource go.
func (p *pass) remove(ctx context.Context) error {
	keep := p.isDeleted() && ptr.Deref(p.mr.Spec.KeepObjects, false)
	if keep || len(p.mr.Status.Resources) == 0 {
		return p.letGo(ctx)
	}
	p.deleting()
	var err error
	if p.shoot, err = p.options.Shoots.For(ctx, p.mr.Namespace); err != nil {
		return p.accessError(reasonDeletionFailed, err)
	}
	if err := p.prune(ctx, p.mr.Status.Resources); err != nil {
		return err
	}
	return p.letGo(ctx)
}
