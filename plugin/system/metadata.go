// SPDX-License-Identifier: Apache-2.0

package system

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels and annotations of system components. Gardener gives most of them their
// meaning.
const (
	// AppLabel tells components apart.
	AppLabel = "k8s-app"
	// RoleLabel with the value SystemComponent is on what belongs to the cluster
	// rather than to its users. Gardener waits for such pods after it has woken up a
	// cluster.
	RoleLabel       = "gardener.cloud/role"
	SystemComponent = "system-component"
	// CriticalLabel with the value true is on DaemonSets and their pods that a node
	// needs before it takes others.
	CriticalLabel = "node.gardener.cloud/critical-component"

	originLabel = "origin"
	gardener    = "gardener"

	// Pods that have one of these, with the value Allowed, may send to what it names.
	// Gardener's NetworkPolicies in a shoot's kube-system select pods by them.
	ToPublicNetworks = "networking.gardener.cloud/to-public-networks"
	ToAPIServer      = "networking.gardener.cloud/to-apiserver"
	ToDNS            = "networking.gardener.cloud/to-dns"
	Allowed          = "allowed"

	// PreserveResources keeps what an autoscaler wrote into a workload's requests.
	PreserveResources = "resources.gardener.cloud/preserve-resources"
)

// TypeMeta is the apiVersion and kind of an object.
func TypeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// Named is the metadata of an object in kube-system, where all objects of a network
// are that have a namespace.
func Named(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: labels}
}

// ClusterWide is the metadata of an object without namespace.
func ClusterWide(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// PodMeta is the metadata of a pod template.
func PodMeta(labels map[string]string) metav1.ObjectMeta { return metav1.ObjectMeta{Labels: labels} }

// App are the labels by which a component's pods are selected.
func App(name string) map[string]string { return map[string]string{AppLabel: name} }

// SystemApp are the labels of a component.
func SystemApp(name string) map[string]string {
	return map[string]string{AppLabel: name, RoleLabel: SystemComponent}
}

// MayReachOut adds the labels of pods that need the world, the API server and DNS.
func MayReachOut(labels map[string]string) map[string]string {
	labels[ToPublicNetworks], labels[ToAPIServer], labels[ToDNS] = Allowed, Allowed, Allowed
	return labels
}

// FromGardener adds the label by which Gardener knows pods that are not the users'.
func FromGardener(labels map[string]string) map[string]string {
	labels[originLabel] = gardener
	return labels
}

// Selecting selects what has all the labels.
func Selecting(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

// TolerateAll lets a pod run on every node, whatever taints of these effects it has.
func TolerateAll(effects ...corev1.TaintEffect) []corev1.Toleration {
	tolerations := make([]corev1.Toleration, 0, len(effects))
	for _, effect := range effects {
		tolerations = append(tolerations, corev1.Toleration{Effect: effect, Operator: corev1.TolerationOpExists})
	}
	return tolerations
}
