// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// Routes is closed while a network would come to rely on routes that the operator has been asked to
// make, and not all nodes have theirs. Pods would be cut off until then.
type Routes struct{}

var _ Gate = Routes{}

// Check implements Gate.
func (Routes) Check(_ context.Context, plan Plan) (Verdict, error) {
	routes := condition.Value(plan.Network.Status.Conditions, extensionsv1alpha1.PodRoutesCreated)
	if !plan.Built.AwaitsRoutes || routes.Status == corev1beta1.ConditionTrue {
		return Open(), nil
	}
	return Verdict{Closed: fmt.Errorf("the network is not changed until all nodes have their routes, because without its overlay pods talk through them: %s. The annotation %s: %s makes the change without them",
		strings.TrimSuffix(cmp.Or(routes.Message, "the operator has not looked at them yet"), "."),
		extensionsv1alpha1.TransitionAnnotation, extensionsv1alpha1.TransitionAtOnce)}, nil
}
