// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Cautious is implemented by a Definition some of whose changes the nodes of a
// shoot have to be ready for.
type Cautious[C any] interface {
	// Precondition returns what the nodes must show before the objects of effective
	// take the place of others, or nil. It is called with a config without errors.
	Precondition(effective *C, facts *Facts) *Precondition
}

// Precondition is what every node of a shoot must show in its status before
// objects are written. While one does not, or cannot be asked, the network stays
// as it is. A hibernated shoot is not asked.
type Precondition struct {
	// Concerns says whether what the shoot has now is something that needs the
	// precondition. present are the objects that were written for it last. Where these
	// are not known Concerns is not called, and the nodes decide, of which a new cluster
	// has none.
	Concerns func(present []unstructured.Unstructured) bool
	// Condition, Status and Reason are the type, status and reason of the node
	// condition.
	Condition corev1.NodeConditionType
	Status    corev1.ConditionStatus
	Reason    string
	// Because is why, as a sentence without a period.
	Because string
}

// Unmet returns nil if a node shows what it must, and otherwise what it shows.
func (p *Precondition) Unmet(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type != p.Condition {
			continue
		}
		if condition.Status == p.Status && condition.Reason == p.Reason {
			return nil
		}
		return fmt.Errorf("node %s has the condition %s=%s with the reason %s", node.Name, p.Condition, condition.Status, condition.Reason)
	}
	return fmt.Errorf("node %s does not have the condition %s", node.Name, p.Condition)
}
