// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// maxPods is how many pods are evicted, or deleted, in one look at a node. The others follow with the next ones.
const maxPods = 50

// Cluster is a shoot whose nodes change.
type Cluster struct {
	// Client sends each call to the shoot's API server.
	Client client.Client
	// Evict evicts a pod, without waiting where a PodDisruptionBudget allows it later.
	Evict func(ctx context.Context, namespace, name string) error
	// Base is the type of network that nodes without label have, and Other that of those whose label says so.
	Base, Other string
	// Agents are the DaemonSets of the agents of both, by type, and Cleaner is that of the cleaner.
	Agents  map[string][]types.NamespacedName
	Cleaner types.NamespacedName
	// HasProbes reports that a probe on each node reports what it reaches.
	HasProbes bool
}

// Look returns what is seen of all nodes.
func (c *Cluster) Look(ctx context.Context) ([]Node, error) {
	list := &corev1.NodeList{}
	if err := c.Client.List(ctx, list); err != nil {
		return nil, err
	}
	nodes, missed := make([]Node, len(list.Items)), map[string]bool{}
	for i := range list.Items {
		n := c.nodeOf(&list.Items[i])
		nodes[i], missed[n.Name] = n, !n.Ready || n.Step != None
	}
	for i := range nodes {
		n := &nodes[i]
		if n.Step == None {
			continue
		}
		if err := c.lookAtPods(ctx, n); err != nil {
			return nil, err
		}
		if c.HasProbes && n.Step == Joining {
			if err := c.lookAtProbe(ctx, n, missed); err != nil {
				return nil, err
			}
		}
	}
	return nodes, nil
}

// nodeOf returns what the Node itself tells.
func (c *Cluster) nodeOf(from *corev1.Node) Node {
	n := Node{Name: from.Name, Type: c.Base}
	if label := from.Labels[extensionsv1alpha1.TypeLabel]; label == c.Other || label == extensionsv1alpha1.TypeNone {
		n.Type = label
	}
	if m, ok := parse(from.Annotations[extensionsv1alpha1.ExchangeAnnotation]); ok {
		n.Step, n.Since = m.step, m.since
	}
	for i := range from.Status.Conditions {
		if condition := &from.Status.Conditions[i]; condition.Type == corev1.NodeReady {
			n.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return n
}

// lookAtPods adds what the pods of a node tell.
func (c *Cluster) lookAtPods(ctx context.Context, n *Node) error {
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.MatchingFields{"spec.nodeName": n.Name}); err != nil {
		return err
	}
	n.Agents = map[string]Agents{}
	for networkType, agents := range c.Agents {
		n.Agents[networkType] = Agents{Wanted: len(agents)}
	}
	n.Cleaner.Wanted = 1
	for i := range pods.Items {
		c.classify(&pods.Items[i], n)
	}
	return nil
}

// lookAtProbe adds whether the node's probe has reached its targets since the step began, but for nodes that are
// missed: they are at a step themselves, or not ready.
func (c *Cluster) lookAtProbe(ctx context.Context, n *Node, missed map[string]bool) error {
	report := &connectivityv1alpha1.NodeConnectivity{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: n.Name}, report)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	talks := err == nil && report.Report.Time.After(n.Since) && reaches(&report.Report, missed)
	n.Talks = &talks
	return nil
}

// reaches reports whether a probe reaches all that the network is responsible for.
func reaches(report *connectivityv1alpha1.Report, missed map[string]bool) bool {
	tested := false
	for _, check := range report.Checks {
		if check.Type == connectivityv1alpha1.CheckOutside {
			continue
		}
		for i := range check.Results {
			result := &check.Results[i]
			tested = true
			if result.ConsecutiveFailures > 0 && !missed[result.Name] {
				return false
			}
		}
	}
	return tested
}

// classify adds a pod to what is seen of its node.
func (c *Cluster) classify(pod *corev1.Pod, n *Node) {
	owner := metav1.GetControllerOf(pod)
	name := Pod{pod.Namespace, pod.Name}
	if owner != nil && owner.Kind == "DaemonSet" {
		daemonSet := types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}
		if daemonSet == c.Cleaner {
			n.Cleaner.add(pod)
			return
		}
		for networkType, agents := range c.Agents {
			for _, each := range agents {
				if each == daemonSet {
					counted := n.Agents[networkType]
					counted.add(pod)
					n.Agents[networkType] = counted
					return
				}
			}
		}
		if !pod.Spec.HostNetwork && n.Step == Joining && pod.CreationTimestamp.Time.Before(n.Since) {
			n.Stale = append(n.Stale, name)
		}
		return
	}
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case isMirror, pod.Spec.HostNetwork, pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
	case owner == nil && pod.DeletionTimestamp == nil:
		n.Stuck = append(n.Stuck, fmt.Sprintf("the pod %s/%s has no controller that would start it on another node: delete it, or uncordon the node and pause the change", pod.Namespace, pod.Name))
	default:
		n.Leaving = append(n.Leaving, name)
	}
}

func (a *Agents) add(pod *corev1.Pod) {
	a.Pods++
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
			a.Ready++
		}
	}
}

// Do does what an Action says. What keeps pods from leaving is returned for people.
func (c *Cluster) Do(ctx context.Context, action Action, now time.Time) (hindered string, err error) {
	for _, pod := range action.Evict[:min(len(action.Evict), maxPods)] {
		why, err := c.evict(ctx, pod)
		if err != nil {
			return "", err
		}
		if hindered == "" {
			hindered = why
		}
	}
	for _, pod := range action.Delete[:min(len(action.Delete), maxPods)] {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		if err := client.IgnoreNotFound(c.Client.Delete(ctx, object)); err != nil {
			return "", err
		}
	}
	if action.Waits != "" {
		return hindered, nil
	}
	return "", c.mark(ctx, action, now)
}

// evict asks for the eviction of a pod, which respects PodDisruptionBudgets.
func (c *Cluster) evict(ctx context.Context, pod Pod) (hindered string, err error) {
	err = c.Evict(ctx, pod.Namespace, pod.Name)
	var answer apierrors.APIStatus
	if apierrors.IsTooManyRequests(err) && errors.As(err, &answer) {
		return fmt.Sprintf("the pod %s/%s may not be evicted now: %s", pod.Namespace, pod.Name, answer.Status().Message), nil
	}
	return "", client.IgnoreNotFound(err)
}

// mark writes the step and the type of a node into the Node, and cordons or uncordons it.
func (c *Cluster) mark(ctx context.Context, action Action, now time.Time) error {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: action.Node}, node); err != nil {
		return client.IgnoreNotFound(err) // deleted meanwhile
	}
	m, _ := parse(node.Annotations[extensionsv1alpha1.ExchangeAnnotation])
	if action.Begin {
		m.cordoned = node.Spec.Unschedulable
	}
	m.step, m.since = action.Step, now
	metadata, spec := map[string]any{}, map[string]any{}
	label := any(action.Type)
	if action.Type == c.Base {
		label = nil
	}
	metadata["labels"] = map[string]any{extensionsv1alpha1.TypeLabel: label}
	switch {
	case action.Uncordon:
		metadata["annotations"] = map[string]any{extensionsv1alpha1.ExchangeAnnotation: nil}
		if !m.cordoned {
			spec["unschedulable"] = nil
		}
	default:
		metadata["annotations"] = map[string]any{extensionsv1alpha1.ExchangeAnnotation: m.String()}
		spec["unschedulable"] = true
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch)))
}

// mark is the value of the annotation of a Node. cordoned reports that it was cordoned before.
type mark struct {
	step     Step
	since    time.Time
	cordoned bool
}

// String returns the annotation's value.
func (m mark) String() string {
	text := string(m.step) + " " + m.since.UTC().Format(time.RFC3339)
	if m.cordoned {
		text += " cordoned"
	}
	return text
}

// parse is the inverse of String. What users have broken is no step: the node begins again.
func parse(text string) (m mark, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return mark{}, false
	}
	since, err := time.Parse(time.RFC3339, fields[1])
	step := Step(fields[0])
	if err != nil || step != Draining && step != Cleaning && step != Joining {
		return mark{}, false
	}
	return mark{step, since, len(fields) > 2 && fields[2] == "cordoned"}, true
}
