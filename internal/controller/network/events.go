// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/outcome"
	"github.com/trellis-network/trellis/plugin"
)

// announceWarnings records an event of the warnings that the status did not have before.
func (w *statusWriter) announceWarnings(run *run, before *runtime.RawExtension) {
	var lines []string
	for _, warning := range run.State.Written.Warnings {
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
	w.announced.Update(client.ObjectKeyFromObject(run.Network), func(before string, _ bool) (string, bool) {
		now := strings.Join(lines, "; ")
		if now == before {
			lines = nil
		}
		return now, now != ""
	})
	w.warn(run, "DisruptiveChange", lines)
}

// announceStep records an event when the network takes a step on its way to what the spec asks for, when it
// stops there, and when it has arrived.
func (w *statusWriter) announceStep(run *run) {
	if run.State == nil || !run.builds {
		return
	}
	before, now := run.at, run.State.Transition
	switch {
	case now == nil && before != nil && before.Step > 0 && run.arrived:
		outcome.Announce(w.recorder, run.Network, corev1.EventTypeNormal, "TransitionSucceeded", "The network has become what the spec asks for: "+before.Name)
	case now == nil:
	case run.steps:
		outcome.Announce(w.recorder, run.Network, corev1.EventTypeNormal, "TransitionStep", now.Title())
	case now.IsHalted() && !before.IsHalted():
		outcome.Announce(w.recorder, run.Network, corev1.EventTypeWarning, "TransitionHalted", now.Describe(run.Network.Status.Conditions, nil))
	}
}

// warn records one event about the Network, because the API server takes events that differ
// only in their notes for one.
func (w *statusWriter) warn(run *run, reason string, lines []string) {
	if len(lines) > 0 {
		outcome.Announce(w.recorder, run.Network, corev1.EventTypeWarning, reason, strings.Join(lines, "; "))
	}
}
