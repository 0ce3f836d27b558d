// SPDX-License-Identifier: Apache-2.0

// Package pod is about the pod in which a program runs.
package pod

import (
	"os"
	"strings"
)

// namespaceFile has the name of the namespace in a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Namespace returns the namespace in which the program runs, empty outside of a pod. Gardener
// sets the variable for its extensions.
func Namespace() string {
	if namespace := os.Getenv("LEADER_ELECTION_NAMESPACE"); namespace != "" {
		return namespace
	}
	content, _ := os.ReadFile(namespaceFile)
	return strings.TrimSpace(string(content))
}
