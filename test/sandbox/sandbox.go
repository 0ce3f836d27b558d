// SPDX-License-Identifier: Apache-2.0

// Package sandbox runs the sandbox program (see sandbox/README.md) from Go
// tests: real Kubernetes clusters with simulated nodes. It imports the standard
// library only. Tests that need a client make one from the kubeconfigs.
//
// A package whose tests share one sandbox:
//
//	var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/one"}})
//
//	func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }
//
//	func TestSomething(t *testing.T) { s := landscape.Get(t) … }
package sandbox

import (
	"fmt"

	"github.com/trellis-network/trellis/test/sandbox/internal/cache"
)

// Sandbox is a running sandbox. Its fields are what the program reports.
type Sandbox struct {
	// Dir holds kubeconfigs and logs.
	Dir string `json:"dir"`
	// PID is the program's process.
	PID int `json:"pid"`
	// KubernetesVersion is what the API servers report.
	KubernetesVersion string `json:"kubernetesVersion"`
	// MemoryMiB is the memory of all processes when all clusters were ready.
	MemoryMiB int `json:"memoryMiB"`
	// Kubectl is the path of a kubectl of the same version.
	Kubectl string  `json:"kubectl"`
	Seed    Seed    `json:"seed"`
	Shoots  []Shoot `json:"shoots"`

	run *run
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

// Shoot is a shoot cluster. The seed has the Secret NAME.kubeconfig for it.
type Shoot struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Server    string `json:"server"`
	// Kubeconfig is the path of an admin's kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// AuditLog is the path of the API server's audit log, and absent without an audit policy.
	AuditLog string `json:"auditLog,omitempty"`
	Nodes    int    `json:"nodes"`
	// RealNodes are the nodes if they are real ones.
	RealNodes []RealNode `json:"realNodes,omitempty"`
}

// Binary returns the path of the built sandbox program. It returns an error if the
// program is not built from the present sources.
func Binary() (string, error) {
	entry, err := cache.Find()
	if err != nil {
		return "", err
	}
	if !entry.Built() {
		return "", fmt.Errorf("the sandbox is not built from the present sources (no %s); run `make sandbox`", entry.Path())
	}
	return entry.Path(), nil
}

// NodePrograms returns the directory with what real nodes run. It returns an error if that is
// not built from the present sources, or if this machine lacks tools that real nodes need.
func NodePrograms() (string, error) {
	entry, err := cache.FindNodePrograms()
	if err != nil {
		return "", err
	}
	if !entry.Built() {
		return "", fmt.Errorf("the programs of real nodes are not built from the present sources (no %s); run `make real-nodes`", entry.Path())
	}
	return entry.Dir, nil
}
