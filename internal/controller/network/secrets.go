// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/outcome"
)

// restoreSecrets puts back the Secrets that bundles have lost, for example because the
// garbage collector deleted one at the moment in which its content came back.
func (w *bundleWriter) restoreSecrets(ctx context.Context, run *run) outcome.Outcome {
	for i := range run.wanted {
		each := &run.wanted[i]
		if !run.withoutSecret[each.Name] || !each.content.Written(run.Managed[each.Name]) {
			continue // or it gets another one along with its ManagedResource
		}
		if err := each.content.WriteSecret(ctx, w.client); err != nil {
			failed := outcome.TryAgain(err, w.codes.of(err)...)
			if run.unchanged { // the network has what it was given
				return failed.Unreported()
			}
			return failed
		}
		w.bundles.Expect(client.ObjectKeyFromObject(run.Network), each.Name, run.Managed[each.Name].ResourceVersion)
	}
	return outcome.Continue()
}
