// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// AgentOf returns how far a DaemonSet has been rolled out.
func AgentOf(d *appsv1.DaemonSet) Agent {
	return Agent{
		Nodes: d.Status.DesiredNumberScheduled, Updated: d.Status.UpdatedNumberScheduled, Available: d.Status.NumberAvailable,
		Observed: d.Status.ObservedGeneration >= d.Generation,
	}
}

// Nodes returns how many nodes there are, and on how many of them all agents run their latest version.
func Nodes(agents []Agent) (all, done int32) {
	for i, agent := range agents {
		its := int32(0)
		if agent.Observed {
			its = max(0, min(agent.Updated, agent.Available))
		}
		if i == 0 || its < done {
			done = its
		}
		all = max(all, agent.Nodes)
	}
	return all, done
}

// Title names the step for people: "Step 1 of 2: VXLAN between subnets".
func (r *Record) Title() string {
	if r.Step == 0 {
		return fmt.Sprintf("Before the first of %d steps", r.Steps)
	}
	return fmt.Sprintf("Step %d of %d: %s", r.Step, r.Steps, r.Name)
}

// WaitsFor returns what the network waits for, for people. conditions are those of the Network, and agents those
// that are known.
func (r *Record) WaitsFor(conditions []corev1beta1.Condition, agents []Agent) string {
	switch r.Phase {
	case Applying:
		return "the resource manager has applied the step"
	case RollingOut:
		text := "the agents of all nodes run the step"
		if r.Step == 0 {
			text = "the agents of all nodes run what was written before"
		}
		if all, done := Nodes(agents); all > 0 {
			text += fmt.Sprintf(" (%d of %d nodes do)", done, all)
		}
		return text
	case Verifying:
		if c := condition.Get(conditions, extensionsv1alpha1.PodNetworkAvailable); c != nil && c.Status != corev1beta1.ConditionTrue {
			return "it is known that pods talk: " + clause(c.Message)
		}
		return fmt.Sprintf("pods have been talking for %s since all nodes run the step, or %s have passed where no probes tell that", brief(settleTime), brief(dwellTime))
	case WaitingForNodes:
		return "the nodes are ready for the next step: " + r.Unmet
	case Halted:
		return "pods talk again: " + clause(condition.Value(conditions, extensionsv1alpha1.PodNetworkAvailable).Message)
	case Unobserved:
		return "the shoot tells how far the step has come, which it does not now"
	}
	return ""
}

// Describe tells where the network stands, in sentences.
func (r *Record) Describe(conditions []corev1beta1.Condition, agents []Agent) string {
	text := r.Title() + ". "
	if r.Phase == Halted {
		return text + "The change has stopped here, since pods do not reach each other. " +
			condition.Value(conditions, extensionsv1alpha1.PodNetworkAvailable).Message +
			" It goes on once they do. To go back, write the former configuration again; the annotation " +
			extensionsv1alpha1.TransitionAnnotation + ": " + extensionsv1alpha1.TransitionAtOnce + " makes the rest at once."
	}
	text += "Waiting until " + r.WaitsFor(conditions, agents) + "."
	if r.Step == 0 {
		text += " The annotation " + extensionsv1alpha1.TransitionAnnotation + ": " + extensionsv1alpha1.TransitionAtOnce + " makes the change at once."
	}
	return text
}

// clause returns a sentence without its period.
func clause(sentence string) string { return strings.TrimSuffix(sentence, ".") }

func brief(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
