// SPDX-License-Identifier: Apache-2.0

package sandbox

import "net/netip"

// Report describes a ready sandbox. Up prints it as one line of JSON. Its fields
// are a contract, as programs in other languages read it.
type Report struct {
	// Dir holds kubeconfigs and logs; `down --dir` takes it.
	Dir string `json:"dir"`
	// PID is the supervisor's process id. SIGTERM to it stops the sandbox.
	PID int `json:"pid"`
	// KubernetesVersion is what the seed's API server reports.
	KubernetesVersion string `json:"kubernetesVersion"`
	// MemoryMiB is the memory of all processes, measured when all clusters were
	// ready.
	MemoryMiB int `json:"memoryMiB"`
	// Kubectl is the path of a kubectl of the same version.
	Kubectl string  `json:"kubectl"`
	Seed    Seed    `json:"seed"`
	Shoots  []Shoot `json:"shoots"`
}

// Seed is the cluster that is garden and seed together.
type Seed struct {
	Server string `json:"server"`
	// Kubeconfig is the path of an admin's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// AuditLog is the path of the API server's audit log, and absent without an audit policy.
	AuditLog string `json:"auditLog,omitempty"`
	// Users has the path of each user's kubeconfig by the user's name.
	Users map[string]string `json:"users"`
}

// Shoot is one shoot cluster.
type Shoot struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Server    string `json:"server"`
	// Kubeconfig is the path of an admin's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// AuditLog is the path of the API server's audit log, and absent without an audit policy.
	AuditLog string `json:"auditLog,omitempty"`
	Nodes    int    `json:"nodes"`
	// RealNodes are the nodes if they are real ones, and absent if they are simulated.
	RealNodes []RealNode `json:"realNodes,omitempty"`
}

// RealNode is a node on which containers run.
type RealNode struct {
	Name string `json:"name"`
	// Addresses has one address of each IP family.
	Addresses []netip.Addr `json:"addresses"`
}
