// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/keyed"
)

// Board has what the controller reports of each Network, for the one writer of their conditions. The
// zero value is ready for use.
type Board struct {
	// Off means that there is no controller, so that nothing is reported.
	Off bool

	reports keyed.Map[types.NamespacedName, *corev1beta1.Condition]
}

var _ source.Source = &Board{}

// Registration returns the source of the condition PodRoutesCreated.
func (b *Board) Registration() source.Registration {
	return source.Registration{Name: ControllerName, Source: b, Conditions: []string{extensionsv1alpha1.PodRoutesCreated}}
}

// put sets the report of a Network, nil for none.
func (b *Board) put(network types.NamespacedName, report *corev1beta1.Condition) {
	b.reports.Set(network, report)
}

// Report implements source.Source. Until the controller has looked at a Network, as after a start,
// its condition stays.
func (b *Board) Report(_ context.Context, in source.Input) (source.Report, error) {
	key := types.NamespacedName{Namespace: in.Network.Namespace, Name: in.Network.Name}
	report, known := b.reports.Get(key)
	if !known && !b.Off {
		report = condition.Get(in.Network.Status.Conditions, extensionsv1alpha1.PodRoutesCreated)
	}
	if report == nil {
		return source.Report{}, nil
	}
	return source.Report{Conditions: []corev1beta1.Condition{*report}}, nil
}

// Forget implements source.Source.
func (b *Board) Forget(network types.NamespacedName) { b.reports.Delete(network) }
