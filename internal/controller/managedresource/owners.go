// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/keyed"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// owners finds other ManagedResources that have the objects of one.
type owners struct {
	// managedResources reads them from a cache.
	managedResources client.Reader
	mr               *resourcesv1alpha1.ManagedResource
	// cluster is that of mr, and class the operator's.
	cluster shootclient.Cluster
	class   string
	// clusters are those that runs of this process connected to, by the namespace of the control
	// plane. A cluster that is not known yet may be any.
	clusters *keyed.Map[string, shootclient.Cluster]
}

// other returns the other ManagedResource that has an object now, or nil: the origin
// annotation in the cluster names it, its inventory has the object, it is not being deleted,
// and it may be for the same cluster. Users of the cluster can write the annotation, so it alone
// proves nothing.
func (o *owners) other(ctx context.Context, id identity, live metav1.Object) (*resourcesv1alpha1.ManagedResource, error) {
	name, ok := parseOrigin(live.GetAnnotations()[resourcesv1alpha1.Origin])
	if !ok || name == client.ObjectKeyFromObject(o.mr) {
		return nil, nil
	}
	other := &resourcesv1alpha1.ManagedResource{}
	if err := o.managedResources.Get(ctx, name, other); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !other.DeletionTimestamp.IsZero() || ClassOf(other) != o.class || !contains(other.Status.Resources, id) || !o.mayBeHere(name.Namespace) {
		return nil, nil
	}
	return other, nil
}

// mayBeHere reports whether the cluster of a control plane may be this one, perhaps under another
// address. No request finds out, since the cluster may belong to another user.
func (o *owners) mayBeHere(namespace string) bool {
	cluster, known := o.clusters.Get(namespace)
	return !known || cluster.MayBe(o.cluster)
}

// conflict returns an error if an object in the cluster belongs to another ManagedResource
// that takes precedence, since it is older. A ManagedResource of the same namespace may take
// over an object that was not in its inventory before: objects move between bundles.
func (o *owners) conflict(ctx context.Context, id identity, live metav1.Object, isNew bool) error {
	other, err := o.other(ctx, id, live)
	switch {
	case err != nil || other == nil:
		return err
	case cmp.Or(other.CreationTimestamp.Compare(o.mr.CreationTimestamp.Time),
		cmp.Compare(client.ObjectKeyFromObject(other).String(), client.ObjectKeyFromObject(o.mr).String())) > 0:
		return nil
	case other.Namespace != o.mr.Namespace:
		return fmt.Errorf("it belongs to the ManagedResource %s/%s, which is older and for the same cluster: a cluster can be that of one Shoot; delete one of the two Shoots, or give this one the kubeconfig of its own cluster",
			other.Namespace, other.Name)
	case isNew:
		return nil
	}
	return fmt.Errorf("it belongs to the ManagedResource %s, which is older: remove it from one of the two", other.Name)
}
