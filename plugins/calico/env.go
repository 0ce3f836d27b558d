// SPDX-License-Identifier: Apache-2.0

package calico

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// datastore is where Calico keeps its state.
const datastore = "kubernetes"

// environment is a container's, in the order in which it was set.
type environment []corev1.EnvVar

func (e *environment) set(name, value string) {
	*e = append(*e, corev1.EnvVar{Name: name, Value: value})
}

func (e *environment) setIf(condition bool, name, value string) {
	if condition {
		e.set(name, value)
	}
}

// setKnown sets a variable if there is a value.
func (e *environment) setKnown(name string, value *string) {
	if value != nil {
		e.set(name, *value)
	}
}

// fromConfig sets a variable to what ConfigMap calico-config has under key.
func (e *environment) fromConfig(name, key string) {
	*e = append(*e, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: configName}, Key: key,
		},
	}})
}

// nodeName sets a variable to the name of the pod's node.
func (e *environment) nodeName(name string) {
	*e = append(*e, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"},
	}})
}

// only returns the variables that have one of the names.
func (e environment) only(names ...string) environment {
	var picked environment
	for _, variable := range e {
		if slices.Contains(names, variable.Name) {
			picked = append(picked, variable)
		}
	}
	return picked
}
