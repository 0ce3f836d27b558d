// SPDX-License-Identifier: Apache-2.0

package system

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trellis-network/trellis/plugin"
)

// Priority classes of a network's pods.
const (
	// NodePriority is Kubernetes' own for what every node needs.
	NodePriority = "system-node-critical"
	// ClusterPriority is Kubernetes' own for what the cluster needs.
	ClusterPriority = "system-cluster-critical"
)

// ChecksumAnnotation is the name of the annotation of a pod template by which pods
// restart when a ConfigMap changes. Its value is a Checksum.
func ChecksumAnnotation(name string) string { return "checksum/configmap-" + name }

// Checksum changes when the data of a ConfigMap does.
func Checksum(config *corev1.ConfigMap) string {
	data, err := json.Marshal(config.Data)
	if err != nil {
		panic(fmt.Sprintf("a map of strings cannot be encoded: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Requests are what a container asks for. It panics on what is no quantity: plugins
// give constants.
func Requests(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}

// RequestsWith completes a list with what it does not have, resource by resource.
func RequestsWith(list corev1.ResourceList, cpu, memory string) corev1.ResourceList {
	complete := Requests(cpu, memory)
	maps.Copy(complete, list)
	return complete
}

// Privileged is the context of a container that may do everything on its node.
func Privileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{Privileged: new(true)}
}

// Shell is the command that runs a script.
func Shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// RollOut replaces the pods of agents on MaxUnavailable nodes at a time.
func RollOut(in *plugin.Input) appsv1.DaemonSetUpdateStrategy {
	return appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(in.MaxUnavailable))},
	}
}
