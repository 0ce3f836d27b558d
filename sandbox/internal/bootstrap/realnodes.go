// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// RealNodes waits until count kubelets have registered their nodes, and all that these miss
// to be Ready is a network for pods.
func RealNodes(ctx context.Context, client kubernetes.Interface, count int, note Note) error {
	return poll(ctx, note, func(ctx context.Context) string {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err.Error()
		}
		for i := range nodes.Items {
			if lack := lacksMoreThanNetwork(&nodes.Items[i]); lack != "" {
				return nodes.Items[i].Name + " " + lack
			}
		}
		if len(nodes.Items) < count {
			return fmt.Sprintf("%d of %d nodes are registered", len(nodes.Items), count)
		}
		return ""
	})
}

// lacksMoreThanNetwork returns what a node misses besides a network for pods, or "".
func lacksMoreThanNetwork(node *corev1.Node) string {
	if node.Spec.PodCIDR == "" {
		return "has no pod range"
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue || strings.Contains(condition.Message, "cni plugin not initialized") {
			return ""
		}
		return "is not Ready: " + condition.Message
	}
	return "reports no condition"
}
