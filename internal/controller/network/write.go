// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/bundle"
	"github.com/trellis-network/trellis/internal/outcome"
)

// bundleWriter writes and deletes bundles.
type bundleWriter struct {
	client       client.Client
	cached, live client.Reader
	standalone   bool
	codes        codes
	status       *statusWriter
	clock        clock.PassiveClock
	*localState
}

// write writes the bundles that are not written yet, and then deletes those that the spec
// does not ask for.
func (w *bundleWriter) write(ctx context.Context, run *run) outcome.Outcome {
	if !run.writes() || run.held {
		return outcome.Continue()
	}
	w.status.announceChanges(run)
	if err := w.put(ctx, run, run.wanted, run.obsolete); err != nil {
		return outcome.TryAgain(err, w.codes.of(err)...)
	}
	run.wrote = true
	return outcome.Continue()
}

// put writes the wanted bundles in ascending phases, and then deletes the obsolete
// ManagedResources. If an awaited bundle fails, those of later phases wait, and nothing is
// deleted while any fails: an object may have moved from one bundle to another.
func (w *bundleWriter) put(ctx context.Context, run *run, wanted []wantedBundle, obsolete []string) error {
	var failures []error
	for i := range wanted {
		each := &wanted[i]
		if isBeingDeleted(run.Managed[each.Name]) {
			continue // the event of its end leads to the next run
		}
		if err := w.writeBundle(ctx, run, each.content); err != nil {
			failures = append(failures, fmt.Errorf("write the bundle %s: %w", each.Name, err))
			if each.Await {
				break
			}
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	for _, name := range obsolete {
		if _, err := bundle.Delete(ctx, w.client, w.live, run.Network.Namespace, name); err != nil {
			failures = append(failures, fmt.Errorf("delete the bundle %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}

// writeBundle writes one bundle, and keeps the next run from starting before the cache
// shows it.
func (w *bundleWriter) writeBundle(ctx context.Context, run *run, content *bundle.Bundle) error {
	mr, err := content.Write(ctx, w.client, run.Managed[content.Name])
	if err != nil || mr == nil {
		return err
	}
	run.Managed[mr.Name] = mr
	delete(run.withoutSecret, mr.Name)
	w.bundles.Expect(client.ObjectKeyFromObject(run.Network), mr.Name, mr.ResourceVersion)
	return nil
}
