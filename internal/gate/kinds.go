// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
)

// Kinds is closed while the type of the network would change, and the shoot has an object that a user wrote, which
// the network that leaves acts on and the other does not: a policy would silently have no effect any more.
type Kinds struct {
	Shoots shootclient.Access
}

var _ Gate = Kinds{}

// Check implements Gate.
func (g Kinds) Check(ctx context.Context, plan Plan) (Verdict, error) {
	exchange := plan.Exchange
	if exchange == nil || len(exchange.Kinds) == 0 || plan.Shoot.IsHibernated() {
		return Open(), nil
	}
	shoot, err := g.Shoots.For(ctx, plan.Network.Namespace)
	if err != nil {
		return Verdict{}, err
	}
	notManaged, err := labels.NewRequirement(resourcesv1alpha1.ManagedBy, selection.DoesNotExist, nil)
	if err != nil {
		return Verdict{}, err
	}
	for _, kind := range exchange.Kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := shoot.Client.List(ctx, list, client.Limit(1), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*notManaged)})
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return Verdict{}, fmt.Errorf("look for objects that only networks of type %s act on: %w", exchange.From, shoot.Failure(err))
		}
		for _, found := range list.Items {
			return Verdict{Closed: fmt.Errorf("the type of the network is not changed while the cluster has the %s %s of the group %s, which would have no effect any more: delete it, or write type %s again",
				kind.Kind, strings.TrimPrefix(found.Namespace+"/"+found.Name, "/"), kind.Group, exchange.From)}, nil
		}
	}
	return Open(), nil
}
