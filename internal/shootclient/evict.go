// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Evict asks for the eviction of a pod. Where a PodDisruptionBudget allows none now, the error is that of too many
// requests, and comes at once.
func (s *Shoot) Evict(ctx context.Context, namespace, name string) error {
	return Evict(ctx, s.deletes, namespace, name)
}

// Evict is Shoot.Evict with any client for the core group. Other clients would repeat a request ten times, ten
// seconds after each other.
func Evict(ctx context.Context, core rest.Interface, namespace, name string) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return core.Post().Namespace(namespace).Resource("pods").Name(name).SubResource("eviction").Body(eviction).MaxRetries(0).Do(ctx).Error()
}
