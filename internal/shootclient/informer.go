// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trellis-network/trellis/internal/condition"
)

// logInterval is the shortest time between two lines about the watches of one shoot.
const logInterval = time.Hour

// newInformer makes the informer of one kind, whose reflector logs nothing: watchFailed
// does.
func (s *Shoot) newInformer(all toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	// The kinds are in the scheme or say what they are, so there is no error.
	kind, _ := apiutil.GVKForObject(example, scheme)
	selected := s.declared.of(kind).selecting(all, s.options.ManagedBy, func(listed runtime.Object) error {
		_, err := s.admit(listed)
		return err
	})
	informer := toolscache.NewSharedIndexInformer(selected, example, resync, indexers)
	// The error could only say that the informer has started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *toolscache.Reflector, err error) {
		s.watchFailed(ctx, kind, err)
	})
	return quiet{informer}
}

// quiet is an informer that logs nothing.
type quiet struct{ toolscache.SharedIndexInformer }

// RunWithContext implements cache.SharedIndexInformer.
func (q quiet) RunWithContext(ctx context.Context) {
	q.SharedIndexInformer.RunWithContext(logr.NewContext(ctx, logr.Discard()))
}

// watchFailed notes why a kind could not be listed or watched. What is no refusal is logged,
// though not for each kind and with each attempt: the statuses have what is so now.
func (s *Shoot) watchFailed(ctx context.Context, kind schema.GroupVersionKind, err error) {
	if ctx.Err() != nil || s.refused.note(kind, err) || apierrors.IsResourceExpired(err) || errors.Is(err, io.EOF) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	if now.Sub(s.logged) < logInterval {
		return
	}
	s.logged = now
	reason := condition.Shorten(s.Failure(err).Error(), condition.MaxMessage)
	log.Log.WithName("shootclient").Info("Objects of a shoot cannot be watched", "namespace", s.Namespace, "kind", kind.Kind, "reason", reason)
}
