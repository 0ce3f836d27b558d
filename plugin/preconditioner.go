// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Preconditioner is implemented by a Definition some of whose changes need nodes that
// are ready for them.
type Preconditioner[C any] interface {
	// Precondition returns what the nodes must show before the objects of effective
	// replace others, or nil. It is called with a config without errors.
	Precondition(effective *C, in *Input) *Precondition
}

// Precondition is what every node of a shoot must show in its status before objects are
// written. The network stays as it is while a node does not show it, or the nodes cannot
// be read. The nodes of a hibernated shoot are not read.
type Precondition struct {
	// AppliesTo reports whether the objects that the shoot has now need the precondition.
	// present are the objects that were written for it last. Where these are not known,
	// AppliesTo is not called, and the precondition holds: a new cluster has no nodes.
	AppliesTo func(present []unstructured.Unstructured) bool
	// Condition, Status and Reason are the type, status and reason of the node
	// condition.
	Condition corev1.NodeConditionType
	Status    corev1.ConditionStatus
	Reason    string
	// Explanation completes "because" for users: a clause without a period.
	Explanation string
}

// IsNeeded calls AppliesTo of a plugin for a type of networks. It returns a panic as an error.
func (p *Precondition) IsNeeded(networkType string, present []unstructured.Unstructured) (needed bool, err error) {
	err = Guard(networkType, func() error {
		needed = p.AppliesTo(present)
		return nil
	})
	return needed, err
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
