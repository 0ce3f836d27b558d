// SPDX-License-Identifier: Apache-2.0

// Package flannel runs the programs of agents/, and what Trellis renders for flannel, on nodes
// that are network namespaces of this machine: the containers' commands of the rendered
// DaemonSet, its files and its rights, against a real API server. Pods are network namespaces
// that the CNI plugins connect. What the nodes send each other are real packets.
//
// The tests need root and the tools that they name. The machine's own network stays as it is.
// All that a test makes ends with its process; TestMain checks it.
package flannel

import (
	"os"
	"os/exec"
	"testing"

	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/remnants"
	"github.com/trellis-network/trellis/test/sandbox"
)

// landscape has an API server without nodes and controllers for pods.
var landscape = sandbox.Share(sandbox.Options{AuditPolicy: harness.AuditPolicy})

func TestMain(m *testing.M) {
	os.Exit(remnants.Check(func() int {
		status := landscape.Main(m)
		programs.remove()
		return status
	}))
}

// tools are what the tests and flannel's daemon call.
var tools = []string{"ip", "iptables", "ip6tables", "nft", "nsenter", "ping", "unshare"}

// needNodes skips a test where there can be no nodes.
func needNodes(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make nodes: run the test as root")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the machine lacks a tool that nodes need: %v", err)
		}
	}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil {
		t.Skipf("the kernel lacks br_netfilter: %v", err)
	}
}
