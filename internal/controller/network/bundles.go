// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// managed are the ManagedResources of a Network's bundles, nil where there is none.
type managed [seed.Groups]*resourcesv1alpha1.ManagedResource

// managedOf finds the ManagedResources of a Network.
func (r *Reconciler) managedOf(ctx context.Context, in client.Reader, namespace, networkType string) (found managed, err error) {
	definition, known := r.Pipeline.Plugin(networkType)
	if !known {
		return found, nil
	}
	for g := range seed.Groups {
		mr := &resourcesv1alpha1.ManagedResource{}
		err := in.Get(ctx, client.ObjectKey{Namespace: namespace, Name: g.ManagedResource(&definition)}, mr)
		if err == nil {
			found[g] = mr
		} else if !apierrors.IsNotFound(err) {
			return managed{}, err
		}
	}
	return found, nil
}

// lostBundles says of which ManagedResources a Secret is gone, whoever has deleted it:
// a garbage collector may have, in the moment in which the content that it holds came
// back. Those that are being deleted need none.
func (w *work) lostBundles(ctx context.Context, in client.Reader) (lost [seed.Groups]bool, err error) {
	for g, mr := range w.managed {
		if mr == nil || !mr.DeletionTimestamp.IsZero() {
			continue
		}
		whole, err := bundle.HasSecrets(ctx, in, mr)
		if err != nil {
			return lost, err
		}
		lost[g] = !whole
	}
	return lost, nil
}

// bundles are what a Network wants to have written, nil where there is nothing.
type bundles [seed.Groups]*bundle.Bundle

func (w *work) bundles(objects *plugin.Objects) (wanted bundles, err error) {
	for g := range seed.Groups {
		if g != seed.Main && len(g.Of(objects)) == 0 {
			continue
		}
		if wanted[g], err = w.bundle(g, g.Of(objects)); err != nil {
			return wanted, err
		}
	}
	return wanted, nil
}

// contents are slices for the contents of bundles. A reconciliation that finds nothing
// to do has no other use for what it has made than to compare it.
var contents = sync.Pool{New: func() any { return new([]byte) }}

// release gives back what the bundles have, at the end of the reconciliation.
func (b *bundles) release() {
	for _, each := range b {
		if each != nil {
			contents.Put(&each.Data)
		}
	}
}

func (w *work) bundle(g seed.Group, objects []plugin.Object) (*bundle.Bundle, error) {
	content := contents.Get().(*[]byte)
	data, err := pipeline.AppendDocuments((*content)[:0], objects)
	definition, _ := w.Pipeline.Plugin(w.network.Spec.Type)
	return &bundle.Bundle{
		Namespace: w.network.Namespace,
		Name:      g.ManagedResource(&definition),
		Origin:    definition.Origin,
		Class:     g.Class(),
		Data:      data,
	}, err
}

// secretsIn are the names of the bundles' Secrets in what is kept of them.
func secretsIn(written *state.Written) [seed.Groups]*string {
	return [seed.Groups]*string{
		seed.Main: &written.Bundle, seed.Later: &written.Later, seed.InSeed: &written.Seed, seed.Admission: &written.Admission,
	}
}

// nameIn puts the names of the Secrets into what is kept of them.
func (b *bundles) nameIn(written *state.Written) {
	names := secretsIn(written)
	for g, wanted := range b {
		if wanted != nil {
			*names[g] = wanted.SecretName()
		}
	}
}

// written says whether there is nothing to write, or nothing that could be
// written now.
func (b *bundles) written(there managed) bool {
	for g, wanted := range b {
		if seed.Group(g) != seed.Main && !settled(wanted, there[g]) {
			return false
		}
	}
	return b[seed.Main].Written(there[seed.Main])
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
func (w *work) writeOthers(ctx context.Context, all *bundles) error {
	for g, wanted := range all {
		there := w.managed[g]
		if seed.Group(g) == seed.Main || settled(wanted, there) {
			continue
		}
		if wanted != nil {
			if _, err := w.write(ctx, wanted, there); err != nil {
				return fmt.Errorf("write the bundle %s: %w", wanted.Name, err)
			}
		} else if _, err := bundle.Delete(ctx, w.client, w.live, w.network.Namespace, there.Name); err != nil {
			return fmt.Errorf("delete the bundle %s: %w", there.Name, err)
		}
	}
	return nil
}

// restoreSecrets puts back what the bundles that are there have lost.
func (w *work) restoreSecrets(ctx context.Context, all *bundles) error {
	for g, wanted := range all {
		if wanted == nil || !w.lost[g] || !wanted.Written(w.managed[g]) {
			continue // or it gets another one along with its ManagedResource
		}
		if err := wanted.WriteSecret(ctx, w.client); err != nil {
			return err
		}
		w.written = append(w.written, writing{wanted.Name, w.managed[g].ResourceVersion})
	}
	return nil
}
