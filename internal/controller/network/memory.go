// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/seed"
)

const (
	// cacheLag is how long the cache may be behind what was just written.
	cacheLag = 50 * time.Millisecond
	// staleRetry is when to try again what the API server has refused for the same
	// reason.
	staleRetry = 200 * time.Millisecond
	// mostLags is how often a bundle is waited for that was written and is not in the
	// cache: somebody may have deleted it.
	mostLags = 20
)

// memory is what a process knows of a Network that it has worked on.
type memory struct {
	uid     types.UID
	version string // the resource version that this process has written or read last
	// settled says that this process has worked the Network through before. One that
	// is not, and has not succeeded, was left unfinished by another process.
	settled bool
	// owed says that a reconciliation was asked for which has not begun, though the
	// annotation is gone.
	owed bool
	// written are the bundles that it wrote, and lags how often the cache was found
	// behind them since.
	written []writing
	lags    int
}

// writing is a bundle whose ManagedResource was written in a version.
type writing struct{ name, version string }

func (r *Reconciler) memoryOf(n *extensionsv1alpha1.Network) memory {
	if known, ok := r.memories.Load(client.ObjectKeyFromObject(n)); ok && known.(memory).uid == n.UID {
		return known.(memory)
	}
	return memory{}
}

// isNewerThan says whether n, from the cache, is older than what this process has
// written. Acting on it would repeat what is done, or overwrite it.
func (m memory) isNewerThan(n *extensionsv1alpha1.Network) bool {
	return m.version != "" && isOlder(n.ResourceVersion, m.version)
}

// misses says the same of bundles, from the cache: of ManagedResources, and of which
// of them the Secret is not there.
func (m memory) misses(cached managed, without [seed.Groups]bool) bool {
	return m.lags < mostLags && slices.ContainsFunc(m.written, func(w writing) bool {
		g := slices.IndexFunc(cached[:], func(mr *resourcesv1alpha1.ManagedResource) bool { return mr != nil && mr.Name == w.name })
		return w.version != "" && (g < 0 || without[g] || isOlder(cached[g].ResourceVersion, w.version))
	})
}

func isOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
