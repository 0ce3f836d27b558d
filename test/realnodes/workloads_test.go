// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// What flanneld and kube-proxy have told the kernel stays when they end: packets go on.
func TestDaemonsThatEndAreNoFailureOfPods(t *testing.T) {
	t.Parallel()
	l := newLandscape(t, 2)
	l.talks()
	began := time.Now()
	l.Eventually(func() string {
		// Trellis may put the DaemonSet back before Kubernetes deletes its pods. After ten times it waits longer.
		l.kubectl("-n", "kube-system", "patch", "daemonset", "kube-flannel-ds", "--type=strategic", "-p",
			`{"spec":{"template":{"spec":{"nodeSelector":{"example.org/none":"true"}}}}}`)
		return l.components()
	}).ShouldNot(Equal("True"), "the condition about components tells it")
	l.tells("flannel's pods deleted", began)
	l.Eventually(l.components).Should(Equal("True"), "Trellis puts the DaemonSet back")
	l.Expect(l.verdict()).To(Equal(standalone.AllWell))

	began = time.Now()
	killed := make(chan string, 2)
	go func() { killed <- keepKilled(l.node("node-1"), "kube-proxy") }()
	go func() { killed <- keepKilled(l.node("node-2"), "flanneld") }()
	l.Eventually(l.components).WithTimeout(killedFor).Should(Equal("Progressing"), "the condition about components tells of flanneld")
	l.tells("kube-proxy and flanneld killed with -9", began)
	l.bears("kube-proxy and flanneld killed with -9", time.Until(began.Add(killedFor)), standalone.AllWell)
	for range 2 {
		l.Expect(<-killed).To(ContainSubstring("killed"))
	}
	l.Eventually(l.components).Should(Equal("True"))
	l.Expect(l.verdict()).To(Equal(standalone.AllWell))
}

// tells notes what the status tells of the network's own workloads, and how long after a fault.
func (l *landscape) tells(name string, began time.Time) {
	l.t.Helper()
	faults.add(row{fault: name, verdict: l.verdict() + ", SystemComponentsHealthy " + l.components(), after: time.Since(began)})
}

// killedFor is longer than any failure of a node or a pair stays undetected.
const killedFor = pairFails

// keepKilled kills what has this name on a node with SIGKILL, again each time that the kubelet has
// restarted it. It returns what it did, or why it could not.
func keepKilled(node sandbox.Node, name string) string {
	output, err := node.Exec(context.Background(), "sh", "-c", fmt.Sprintf(`
		end=$(($(date +%%s) + %d))
		while [ $(date +%%s) -lt $end ]; do
			for process in /proc/[0-9]*; do
				read -r comm <$process/comm && [ "$comm" = %s ] && kill -9 ${process#/proc/} && echo killed
			done
			sleep 1
		done 2>/dev/null`, int(killedFor.Seconds()), name))
	if err != nil {
		return err.Error()
	}
	return string(output)
}
