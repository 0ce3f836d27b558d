// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trellis-network/trellis/sandbox/internal/options"
)

// RegisterNodes creates the Nodes of a shoot, as their kubelets would.
func RegisterNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	version, err := Version(client)
	if err != nil {
		return err
	}
	for i := range count {
		node := newNode(i, version)
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("register node %s: %w", node.Name, err)
		}
	}
	return nil
}

// newNode is a small virtual machine with the usual limit of 110 pods.
func newNode(index int, version string) *corev1.Node {
	name := fmt.Sprintf("node-%d", index+1)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: options.NodeIP(index).String()},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:  version,
				OperatingSystem: "linux",
				Architecture:    "amd64",
				OSImage:         "trellis-sandbox (simulated)",
			},
		},
	}
}

// Nodes waits until count nodes can take pods: they are Ready, have a pod range,
// and no taint that keeps pods away.
func Nodes(ctx context.Context, client kubernetes.Interface, count int, note Note) error {
	return poll(ctx, note, func(ctx context.Context) string {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err.Error()
		}
		ready, missing := 0, "none registered"
		for i := range nodes.Items {
			if lack := lacks(&nodes.Items[i]); lack != "" {
				missing = nodes.Items[i].Name + " " + lack
				continue
			}
			ready++
		}
		if ready >= count {
			return ""
		}
		return fmt.Sprintf("%d of %d nodes are ready; %s", ready, count, missing)
	})
}

// lacks returns what keeps a node from taking pods, or "".
func lacks(node *corev1.Node) string {
	if node.Spec.PodCIDR == "" {
		return "has no pod range"
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return "has the taint " + taint.Key
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return ""
		}
	}
	return "is not Ready"
}
