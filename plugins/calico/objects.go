// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// namespace is where everything is that has a namespace.
const namespace = metav1.NamespaceSystem

// Labels and annotations that Calico's objects carry. Gardener gives most of them
// their meaning.
const (
	appLabel = "k8s-app"

	roleLabel       = "gardener.cloud/role"
	systemComponent = "system-component"
	// criticalLabel is on DaemonSets that a node needs before it takes other pods.
	criticalLabel = "node.gardener.cloud/critical-component"
	originLabel   = "origin"
	originValue   = "gardener"

	// Pods that carry one of these may send to where it says; Gardener's
	// NetworkPolicies in a shoot's kube-system go by them.
	toPublicNetworks = "networking.gardener.cloud/to-public-networks"
	toAPIServer      = "networking.gardener.cloud/to-apiserver"
	toDNS            = "networking.gardener.cloud/to-dns"
	allowed          = "allowed"

	// preserveResources keeps what an autoscaler wrote into a workload's requests.
	preserveResources = "resources.gardener.cloud/preserve-resources"
	// deleteOnInvalidUpdate recreates an object whose update is refused.
	deleteOnInvalidUpdate = "resources.gardener.cloud/delete-on-invalid-update"
	safeToEvict           = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	descriptionAnnotation = "gardener.cloud/description"
	checksumPrefix        = "checksum/configmap-"

	shootSystemPriority = "gardener-shoot-system-800"
	nodePriority        = "system-node-critical"
	clusterPriority     = "system-cluster-critical"
)

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// named is the metadata of an object in the one namespace.
func named(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}
}

// clusterWide is the metadata of an object without namespace.
func clusterWide(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func app(name string) map[string]string { return map[string]string{appLabel: name} }

func systemApp(name string) map[string]string {
	return map[string]string{appLabel: name, roleLabel: systemComponent}
}

// mayReachOut adds the labels of pods that need the world, the API server and DNS.
func mayReachOut(labels map[string]string) map[string]string {
	labels[toPublicNetworks], labels[toAPIServer], labels[toDNS] = allowed, allowed, allowed
	return labels
}

func fromGardener(labels map[string]string) map[string]string {
	labels[originLabel] = originValue
	return labels
}

func selecting(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

// tolerateAll lets a pod run on every node, whatever taints of these effects it
// has.
func tolerateAll(effects ...corev1.TaintEffect) []corev1.Toleration {
	tolerations := make([]corev1.Toleration, 0, len(effects))
	for _, effect := range effects {
		tolerations = append(tolerations, corev1.Toleration{Effect: effect, Operator: corev1.TolerationOpExists})
	}
	return tolerations
}

func runtimeDefault() *corev1.SeccompProfile {
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

func privileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{Privileged: new(true)}
}

// checksum changes when the data of a ConfigMap does. As an annotation of a pod
// template it lets pods restart then.
func checksum(config *corev1.ConfigMap) string {
	data, err := json.Marshal(config.Data)
	if err != nil {
		panic(fmt.Sprintf("a map of strings cannot be encoded: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// disruptionBudget lets one pod at a time be evicted, and any that does not work
// anyway: draining a node must not hang on it.
func disruptionBudget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   typeMeta("policy/v1", "PodDisruptionBudget"),
		ObjectMeta: named(name, app(name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			Selector:                   selecting(app(name)),
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// podMeta is the metadata of a pod template.
func podMeta(labels map[string]string) metav1.ObjectMeta { return metav1.ObjectMeta{Labels: labels} }
