// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Objects travel in up to three bundles. The main one is always there, is named
// by the plugin, and is what a Network waits for; its objects and the later ones
// are for the shoot. The names of the others are the main one's with a suffix.
const (
	laterSuffix = "-later"
	seedSuffix  = "-seed"
	// seedClass makes a resource manager apply objects in the seed itself.
	seedClass = "seed"
)

// managed are the ManagedResources of a Network's bundles, nil where there is
// none.
type managed struct {
	main, later, seed *resourcesv1alpha1.ManagedResource
}

// managedOf finds the ManagedResources of a Network.
func (r *Reconciler) managedOf(ctx context.Context, namespace, networkType string) (managed, error) {
	definition, known := r.Pipeline.Plugin(networkType)
	if !known {
		return managed{}, nil
	}
	var found managed
	for name, mr := range map[string]**resourcesv1alpha1.ManagedResource{
		definition.ManagedResource:               &found.main,
		definition.ManagedResource + laterSuffix: &found.later,
		definition.ManagedResource + seedSuffix:  &found.seed,
	} {
		one := &resourcesv1alpha1.ManagedResource{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, one)
		if err == nil {
			*mr = one
		} else if !apierrors.IsNotFound(err) {
			return managed{}, err
		}
	}
	return found, nil
}

// all are those that there are.
func (m managed) all() []*resourcesv1alpha1.ManagedResource {
	return slices.DeleteFunc([]*resourcesv1alpha1.ManagedResource{m.main, m.later, m.seed},
		func(mr *resourcesv1alpha1.ManagedResource) bool { return mr == nil })
}

// namesOf are the names of a plugin's ManagedResources in the order in which they
// are deleted: what is for the shoot before what needs it there, the seed's last.
func namesOf(definition plugin.Plugin) []string {
	main := definition.ManagedResource
	return []string{main + laterSuffix, main, main + seedSuffix}
}

// bundles are what a Network wants to have written. Only main is never nil.
type bundles struct {
	main, later, seed *bundle.Bundle
}

func (w *work) bundles(objects *plugin.Objects) (wanted bundles, err error) {
	if wanted.main, err = w.bundle("", "", objects.Shoot); err != nil {
		return wanted, err
	}
	if len(objects.ShootLater) > 0 {
		if wanted.later, err = w.bundle(laterSuffix, "", objects.ShootLater); err != nil {
			return wanted, err
		}
	}
	if len(objects.Seed) > 0 {
		wanted.seed, err = w.bundle(seedSuffix, seedClass, objects.Seed)
	}
	return wanted, err
}

func (w *work) bundle(suffix, class string, objects []plugin.Object) (*bundle.Bundle, error) {
	data, err := pipeline.Documents(objects)
	definition, _ := w.Pipeline.Plugin(w.network.Spec.Type)
	return &bundle.Bundle{
		Namespace: w.network.Namespace,
		Name:      definition.ManagedResource + suffix,
		Origin:    definition.Origin,
		Class:     class,
		Data:      data,
	}, err
}

// nameIn puts the names of the Secrets into what is kept of them.
func (b *bundles) nameIn(written *state.Written) {
	written.Bundle = b.main.SecretName()
	if b.later != nil {
		written.Later = b.later.SecretName()
	}
	if b.seed != nil {
		written.Seed = b.seed.SecretName()
	}
}

// written says whether there is nothing to write, or nothing that could be
// written now.
func (b *bundles) written(there managed) bool {
	return b.main.Written(there.main) && settled(b.later, there.later) && settled(b.seed, there.seed)
}

// settled says the same of a bundle that nobody waits for. While its
// ManagedResource is being deleted there is nothing to do; the watch tells when
// that is over.
func settled(wanted *bundle.Bundle, there *resourcesv1alpha1.ManagedResource) bool {
	if there != nil && !there.DeletionTimestamp.IsZero() {
		return true
	}
	if wanted == nil {
		return there == nil
	}
	return wanted.Written(there)
}

// write writes a bundle, says whether there was anything to write, and remembers
// it until the cache shows it.
func (w *work) write(ctx context.Context, wanted *bundle.Bundle, there *resourcesv1alpha1.ManagedResource) (bool, error) {
	mr, err := wanted.Write(ctx, w.client, there)
	if err != nil || mr == nil {
		return false, err
	}
	w.written = append(w.written, writing{mr.Name, mr.ResourceVersion})
	return true, nil
}

// writeOthers writes the bundles that nobody waits for, and deletes those that
// are not wanted any more.
func (w *work) writeOthers(ctx context.Context, wanted *bundles) error {
	for _, each := range []struct {
		wanted *bundle.Bundle
		there  *resourcesv1alpha1.ManagedResource
	}{{wanted.later, w.managed.later}, {wanted.seed, w.managed.seed}} {
		if settled(each.wanted, each.there) {
			continue
		}
		if each.wanted != nil {
			if _, err := w.write(ctx, each.wanted, each.there); err != nil {
				return fmt.Errorf("write the bundle %s: %w", each.wanted.Name, err)
			}
		} else if _, err := bundle.Delete(ctx, w.client, w.live, w.network.Namespace, each.there.Name); err != nil {
			return fmt.Errorf("delete the bundle %s: %w", each.there.Name, err)
		}
	}
	return nil
}

// restoreSecrets puts back Secrets that somebody has deleted and a resource
// manager misses.
func (w *work) restoreSecrets(ctx context.Context, wanted *bundles) error {
	for _, each := range []struct {
		wanted *bundle.Bundle
		there  *resourcesv1alpha1.ManagedResource
	}{{wanted.main, w.managed.main}, {wanted.later, w.managed.later}, {wanted.seed, w.managed.seed}} {
		if each.wanted == nil || each.there == nil || !bundle.SecretMissing(each.there) {
			continue
		}
		if err := each.wanted.WriteSecret(ctx, w.client); err != nil {
			return err
		}
	}
	return nil
}
