// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/fielderror"
	"github.com/trellis-network/trellis/internal/outcome"
)

// refuseUnknownType tells the user of a Network without a plugin which types there are (N22).
// Another operator may have the plugin. It gets time to take the Network, which shows in the
// finalizer or the status, and the Network is left alone from then on. Of several operators
// without the plugin, the first one tells.
func (r *Reconciler) refuseUnknownType(_ context.Context, run *run) outcome.Outcome {
	const path = "spec.type"
	n := run.Network
	isTaken := controllerutil.ContainsFinalizer(n, extensionsv1alpha1.NetworkFinalizer)
	if last := n.Status.LastOperation; last != nil {
		isTaken = isTaken || !strings.HasPrefix(last.Description, descriptions[corev1beta1.LastOperationTypeCreate].failed+": "+path+": ")
	}
	isTold := n.Status.LastOperation != nil && n.Status.ObservedGeneration == n.Generation
	if isTaken || isTold || !n.DeletionTimestamp.IsZero() {
		return outcome.Finish()
	}
	if left := takenWithin - r.Clock.Since(n.CreationTimestamp.Time); left > 0 {
		return outcome.Finish().Within(left)
	}
	refused := field.NotSupported(field.NewPath(path), n.Spec.Type, r.Pipeline.Types())
	refused.Detail += fmt.Sprintf(" by the operator %s; no other operator has taken the Network within %s", r.Operator, takenWithin) +
		fielderror.DidYouMean(r.Pipeline.Types(), n.Spec.Type)
	return outcome.Fail(refused, corev1beta1.ErrorConfigurationProblem)
}
