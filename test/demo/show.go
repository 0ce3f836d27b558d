// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/sandbox"
)

// node is a line of a tree, with the lines below it.
type node struct {
	text     string
	children []*node
}

func (n *node) add(format string, args ...any) *node {
	child := &node{text: fmt.Sprintf(format, args...)}
	n.children = append(n.children, child)
	return child
}

func (n *node) print(indent string) {
	for i, child := range n.children {
		branch, further := "├─ ", "│  "
		if i == len(n.children)-1 {
			branch, further = "└─ ", "   "
		}
		fmt.Println(indent + branch + child.text)
		child.print(indent + further)
	}
}

// show prints the Shoot and its network as a tree.
func (d *demo) show(ctx context.Context) {
	shoot, err := d.shoot.Current(ctx)
	if err != nil {
		return
	}
	root := &node{text: "Shoot " + d.shoot.Key().String() + "  " + outcomeOf(shoot.Status.LastOperation)}
	for _, lastError := range shoot.Status.LastErrors {
		root.add("error %v: %s", lastError.Codes, lastError.Description)
	}
	if n, err := d.shoot.Network(ctx); err == nil {
		d.addNetwork(ctx, root, n)
	}
	fmt.Println("\n" + root.text)
	root.print("")
}

// showAccess prints how to reach the clusters with kubectl, and how to cut the link of a real node.
func (l *landscape) showAccess() {
	fmt.Println("\nTo look around:")
	fmt.Printf("  export PATH=%s/bin:$PATH\n", l.Dir)
	fmt.Printf("  export KUBECONFIG=%s   # garden and seed\n", l.Sandbox.Seed.Kubeconfig)
	for _, shoot := range l.Shoots {
		fmt.Printf("  export KUBECONFIG=%s   # the shoot %s\n", shoot.Kubeconfig, shoot.Name)
	}
	fmt.Printf("  %s status -A --kubeconfig %s\n", l.trellis, l.Sandbox.Seed.Kubeconfig)
	if program, err := sandbox.Binary(); err == nil && len(l.Shoots) > 1 {
		fmt.Printf("  %s node fault %s --link-down --dir %s   # node heal repairs the link\n", program, cutNode, l.Dir)
	}
}

func (d *demo) addNetwork(ctx context.Context, root *node, n *extensionsv1alpha1.Network) {
	network := root.add("Network %s/%s  %s, pods %s, Services %s  %s", n.Namespace, n.Name,
		n.Spec.Type, n.Spec.EffectivePodCIDR(), n.Spec.ServiceCIDR, outcomeOf(n.Status.LastOperation))
	var status struct {
		Components map[string]bool  `json:"components"`
		Config     map[string]any   `json:"config"`
		Warnings   []plugin.Warning `json:"warnings"`
	}
	if n.Status.ProviderStatus != nil && json.Unmarshal(n.Status.ProviderStatus.Raw, &status) == nil {
		inForce := network.add("in force")
		addValues(inForce, status.Config)
		for _, warning := range status.Warnings {
			network.add("warning: %s", warning)
		}
	}
	d.addComponents(ctx, network, status.Components)
	for _, condition := range n.Status.Conditions {
		network.add("%s: %s, %s", condition.Type, condition.Status, condition.Message)
	}
	if mr, err := d.managedResource(ctx); err == nil && mr != nil {
		managed := network.add("ManagedResource %s  %d objects", mr.Name, len(mr.Status.Resources))
		for _, condition := range mr.Status.Conditions {
			managed.add("%s: %s, %s", condition.Type, condition.Status, condition.Message)
		}
	}
}

func (d *demo) addComponents(ctx context.Context, network *node, healthy map[string]bool) {
	components, err := d.components(ctx)
	if err != nil || len(components) == 0 {
		return
	}
	health := network.add("components")
	for _, component := range components {
		ready, wanted, _ := d.rollOut(ctx, component)
		health.add("%-16s healthy: %-5v  %s %s/%s %d/%d", component.Name, healthy[component.Name],
			component.Kind, component.Namespace, component.Workload, ready, wanted)
	}
}

func addValues(n *node, values map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if inner, ok := values[key].(map[string]any); ok {
			addValues(n.add("%s", key), inner)
			continue
		}
		n.add("%s: %v", key, values[key])
	}
}

func outcomeOf(operation *corev1beta1.LastOperation) string {
	if operation == nil {
		return "(nothing done yet)"
	}
	return fmt.Sprintf("%s %s", operation.Type, operation.State)
}

// rollOut returns how many of a workload's pods are up to date and available, and how many
// the workload wants.
func (d *demo) rollOut(ctx context.Context, component plugin.Component) (ready, wanted int32, err error) {
	key := client.ObjectKey{Namespace: component.Namespace, Name: component.Workload}
	if component.Kind == "DaemonSet" {
		set := &appsv1.DaemonSet{}
		err := d.shoot.Cluster.Get(ctx, key, set)
		return min(set.Status.NumberAvailable, set.Status.UpdatedNumberScheduled), set.Status.DesiredNumberScheduled, err
	}
	deployment := &appsv1.Deployment{}
	err = d.shoot.Cluster.Get(ctx, key, deployment)
	return min(deployment.Status.AvailableReplicas, deployment.Status.UpdatedReplicas), deployment.Status.Replicas, err
}
