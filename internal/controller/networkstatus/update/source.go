// SPDX-License-Identifier: Apache-2.0

// Package update reports what a Network waits for that an update of Trellis, or of the operator's
// settings, has not reached yet, and whether it has passed the one that has: the condition
// NetworkUpToDate. The controller of Networks finds that out; the state has it.
package update

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/networkstatus/source"
	"github.com/trellis-network/trellis/internal/wave"
)

// Source reports where Networks stand in a roll-out.
type Source struct{}

var _ source.Source = Source{}

// Report implements source.Source. A Network that is up to date, or whose updates are not paced, has no
// condition.
func (Source) Report(_ context.Context, in source.Input) (source.Report, error) {
	at := in.State.Rollout
	if at == nil || at.Is(wave.Succeeded) {
		return source.Report{}, nil
	}
	status := corev1beta1.ConditionFalse
	if at.Is(wave.Progressing) {
		status = corev1beta1.ConditionProgressing
	}
	return source.Report{Conditions: []corev1beta1.Condition{{
		Type: extensionsv1alpha1.NetworkUpToDate, Status: status,
		Reason: string(at.Reason), Message: at.Message,
	}}}, nil
}

// Forget implements source.Source.
func (Source) Forget(types.NamespacedName) {}
