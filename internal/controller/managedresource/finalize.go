// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// patience is how long the deletion of an object may take, if anybody has said so:
// on the object itself, or when it was stated. What is no duration counts for
// nothing.
func patience(ref *reference, live *metav1.PartialObjectMetadata) (time.Duration, bool) {
	for _, annotations := range []map[string]string{live.Annotations, ref.Annotations} {
		if text, stated := annotations[resourcesv1alpha1.FinalizeDeletionAfter]; stated {
			after, err := time.ParseDuration(text)
			return after, err == nil
		}
	}
	return 0, false
}

// isOverdue says whether an object that is being deleted has had its time.
func (p *pass) isOverdue(ref *reference, live *metav1.PartialObjectMetadata) bool {
	after, limited := patience(ref, live)
	return limited && !live.DeletionTimestamp.IsZero() && !p.options.Clock.Now().Before(live.DeletionTimestamp.Add(after))
}

// finalize takes all finalizers off an object, whoever they are of.
func (p *pass) finalize(ctx context.Context, ref *reference, live *metav1.PartialObjectMetadata) error {
	p.log.Info("The deletion of an object took too long, and its finalizers are taken off",
		"object", identityOf(ref).String(), "finalizers", live.Finalizers, "since", live.DeletionTimestamp)
	if len(live.Finalizers) > 0 {
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"finalizers":null}}`, live.ResourceVersion)
		err := p.shoot.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(FieldManager))
		if err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if isNamespace(ref) {
		// Its own finalizers are in the spec, and only a subresource takes them off.
		namespace := &corev1.Namespace{}
		err := p.shoot.Client.Get(ctx, types.NamespacedName{Name: live.Name}, namespace)
		if err != nil || namespace.UID != live.UID {
			return client.IgnoreNotFound(err)
		}
		namespace.Spec.Finalizers = nil
		return client.IgnoreNotFound(p.shoot.Client.SubResource("finalize").Update(ctx, namespace))
	}
	return nil
}

func isNamespace(ref *reference) bool { return ref.APIVersion == "v1" && ref.Kind == "Namespace" }
