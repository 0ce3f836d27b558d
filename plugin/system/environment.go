// SPDX-License-Identifier: Apache-2.0

package system

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Environment is a container's, in the order in which it was set.
type Environment []corev1.EnvVar

// Set sets a variable.
func (e *Environment) Set(name, value string) {
	*e = append(*e, corev1.EnvVar{Name: name, Value: value})
}

// SetIf sets a variable on a condition.
func (e *Environment) SetIf(condition bool, name, value string) {
	if condition {
		e.Set(name, value)
	}
}

// SetKnown sets a variable if there is a value.
func (e *Environment) SetKnown(name string, value *string) {
	if value != nil {
		e.Set(name, *value)
	}
}

// FromConfigMap sets a variable to what a ConfigMap has under key.
func (e *Environment) FromConfigMap(name, configMap, key string) {
	*e = append(*e, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key,
		},
	}})
}

// FromField sets a variable to a field of the pod, for example spec.nodeName.
func (e *Environment) FromField(name, path string) {
	*e = append(*e, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}})
}

// Only returns the variables that have one of the names.
func (e Environment) Only(names ...string) Environment {
	var picked Environment
	for _, variable := range e {
		if slices.Contains(names, variable.Name) {
			picked = append(picked, variable)
		}
	}
	return picked
}
