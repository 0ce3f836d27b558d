// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// UnlessGone returns the error of a request for an object of a kind, or nil if it means that
// the shoot does not have the object. It believes that only of an API server: of one that
// says so in a Status, or that does not list the kind, which must not be one of Kubernetes'
// own. About a path that it does not know, an API server answers without a Status, and so
// does whatever stands in front of it.
func (s *Shoot) UnlessGone(kind schema.GroupKind, err error) error {
	noKind := meta.IsNoMatchError(err)
	switch {
	case !noKind && !apierrors.IsNotFound(err):
		return err
	case !s.isProven():
		return fmt.Errorf("whether it is gone is not known, since %s did not answer /version as an API server does: %w", s.Server, err)
	case !noKind && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil
	case len(builtIn.VersionsForGroupKind(kind)) > 0:
		return fmt.Errorf("whether it is gone is not known, since %s does not serve %s, which each API server has: %w", s.Server, kind, err)
	}
	mapper, failed := apiutil.NewDynamicRESTMapper(s.connection.config, s.connection.requests)
	if failed == nil {
		_, failed = mapper.RESTMapping(kind)
	}
	switch {
	case failed == nil:
		return err
	case meta.IsNoMatchError(failed):
		return nil
	}
	return fmt.Errorf("whether it is gone is not known: %w", failed)
}

// Lacks reports whether the shoot does not have a custom kind. It sends a request, since clients
// never forget a kind, and ends the watch of a kind that is gone.
func (s *Shoot) Lacks(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := s.Client.List(ctx, list, client.Limit(1))
	if err == nil {
		return false, nil
	}
	if err := s.UnlessGone(kind.GroupKind(), err); err != nil {
		return false, s.Failure(err)
	}
	s.unwatchKind(kind.GroupKind())
	return true, nil
}

// isProven reports whether /version was answered as an API server does. It asks again if it
// was not: a server that starts answers with errors.
func (s *Shoot) isProven() bool {
	if !s.connection.proven.Load() {
		_ = s.connection.probe(context.Background(), s.options.RequestTimeout)
	}
	return s.connection.proven.Load()
}
