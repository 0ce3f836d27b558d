// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
)

// Kinds is closed while the type of the network would change, and the shoot has an object that a user wrote, which
// the network that leaves acts on and the other does not: a policy would silently have no effect any more. Where the
// policies of one of the networks would cut off pods of the other, no object of either may be there.
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
	for _, kind := range exchange.Kinds {
		found, err := foreign(ctx, shoot.Client, exchange, kind)
		if err != nil {
			return Verdict{}, fmt.Errorf("look for objects that only networks of type %s act on: %w", exchange.From, shoot.Failure(err))
		}
		if found == nil {
			continue
		}
		is := fmt.Sprintf("the %s %s of the group %s", kind.Kind, strings.TrimPrefix(found.Namespace+"/"+found.Name, "/"), kind.Group)
		if only := exchange.KnowsOwnPodsOnly; only != "" {
			return Verdict{Closed: fmt.Errorf("the type of the network is not changed while the cluster has %s: until all nodes have changed, %s knows only pods on nodes that have it, and policies would cut off all others: delete it until the type has changed, or write type %s again",
				is, only, exchange.From)}, nil
		}
		return Verdict{Closed: fmt.Errorf("the type of the network is not changed while the cluster has %s, which would have no effect any more: delete it, or write type %s again",
			is, exchange.From)}, nil
	}
	return Open(), nil
}

// foreign returns an object of the kind that stands in the way, or nil.
func foreign(ctx context.Context, shoot client.Client, exchange *pipeline.Exchange, kind schema.GroupVersionKind) (*metav1.PartialObjectMetadata, error) {
	own := map[types.NamespacedName]bool{}
	for _, each := range exchange.Own {
		if each.GroupKind == kind.GroupKind() {
			own[each.NamespacedName] = true
		}
	}
	options := []client.ListOption{client.Limit(int64(len(own)) + 1)}
	if exchange.KnowsOwnPodsOnly == "" {
		notManaged, err := labels.NewRequirement(resourcesv1alpha1.ManagedBy, selection.DoesNotExist, nil)
		if err != nil {
			return nil, err
		}
		options = append(options, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*notManaged)})
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := shoot.List(ctx, list, options...); err != nil {
		if meta.IsNoMatchError(err) {
			err = nil
		}
		return nil, err
	}
	for i := range list.Items {
		if !own[client.ObjectKeyFromObject(&list.Items[i])] {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}
