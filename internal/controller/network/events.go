// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/plugin"
)

// announceTransition logs and announces a change of the last operation.
func (w *statusWriter) announceTransition(ctx context.Context, run *run, before *extensionsv1alpha1.Network) {
	if run.network.Status.LastOperation == nil {
		return
	}
	transition := outcome.Transition{
		Network: client.ObjectKeyFromObject(run.network), Type: run.network.Spec.Type,
		Before: ptr.Deref(before.Status.LastOperation, corev1beta1.LastOperation{}), After: *run.network.Status.LastOperation,
	}
	if transition.Before.State == corev1beta1.LastOperationStateProcessing {
		transition.Duration = w.clock.Since(transition.Before.LastUpdateTime.Time)
	}
	transition.Log(logf.FromContext(ctx))
	transition.Announce(w.recorder, run.network)
}

// announceWarnings records an event of the warnings that the status did not have before.
func (w *statusWriter) announceWarnings(run *run, before *runtime.RawExtension) {
	var lines []string
	for _, warning := range run.state.Written.Warnings {
		quoted, _ := json.Marshal(warning.Message)
		if before == nil || !strings.Contains(string(before.Raw), string(quoted)) {
			lines = append(lines, warning.String())
		}
	}
	w.warn(run, "ConfigurationWarning", lines)
}

// announceChanges records an event of what interrupts traffic, before it is written. What is
// written again because that failed is not announced again.
func (w *statusWriter) announceChanges(run *run) {
	var lines []string
	for _, change := range run.built.Changes {
		if change.Class == plugin.Disruptive {
			lines = append(lines, change.Path+": "+change.Reason)
		}
	}
	w.announced.Update(client.ObjectKeyFromObject(run.network), func(before string, _ bool) (string, bool) {
		now := strings.Join(lines, "; ")
		if now == before {
			lines = nil
		}
		return now, now != ""
	})
	w.warn(run, "DisruptiveChange", lines)
}

// warn records one event about the Network, because the API server takes events that differ
// only in their notes for one.
func (w *statusWriter) warn(run *run, reason string, lines []string) {
	if len(lines) > 0 {
		outcome.Announce(w.recorder, run.network, corev1.EventTypeWarning, reason, strings.Join(lines, "; "))
	}
}
