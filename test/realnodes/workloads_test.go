// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// What flanneld and kube-proxy have told the kernel stays when they end: packets go on, here those of
// IPv6 alone.
func TestDaemonsThatEndAreNoFailureOfPods(t *testing.T) {
	sideBySide(t, 5*time.Minute)
	l := newLandscapeOf(t, sandbox.RealNodes{Nodes: 2, Families: "IPv6"})
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

	// As Gardener's resource manager marks what it applies. Of other objects the operator sees none.
	l.kubectl("-n", "kube-system", "label", "daemonset", "kube-proxy", resourcesv1alpha1.ManagedBy+"=gardener")
	l.Eventually(l.componentsOf).Should(Equal(map[string]bool{"nodes": true, "kube-proxy": true}))
	began = time.Now()
	killed := make(chan string, 2)
	go func() { killed <- keepKilled(l.node("node-1"), "kube-proxy") }()
	go func() { killed <- keepKilled(l.node("node-2"), "flanneld") }()
	l.Eventually(l.components).Should(Equal("Progressing"), "the condition about components tells of flanneld")
	l.tells("kube-proxy and flanneld killed with -9, again and again", began)
	l.Eventually(l.components).WithTimeout(killedFor).Should(Equal("False"))
	l.tells("kube-proxy and flanneld killed for longer than the progressingThreshold of 1 min", began)
	l.Eventually(l.componentsOf).Should(Equal(map[string]bool{"nodes": false, "kube-proxy": false}))
	l.bears("kube-proxy and flanneld killed with -9, again and again", time.Until(began.Add(killedFor)), standalone.AllWell)
	for _, each := range l.writes.since(began) {
		l.Expect(each.verdict).To(Equal(standalone.AllWell), "all the time")
	}
	for range 2 {
		l.Expect(<-killed).To(ContainSubstring("killed"))
	}
	l.Eventually(l.components).Should(Equal("True"))
	l.Expect(l.verdict()).To(Equal(standalone.AllWell))
}

// componentsOf is what the status tells of each component.
func (l *landscape) componentsOf() map[string]bool {
	network, err := l.shoot.Network(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	var stated struct{ Components map[string]bool }
	l.Expect(json.Unmarshal(network.Status.ProviderStatus.Raw, &stated)).To(Succeed())
	return stated.Components
}

// tells notes what the status tells of the network's own workloads, and how long after a fault.
func (l *landscape) tells(name string, began time.Time) {
	l.t.Helper()
	faults.add(row{fault: name, verdict: l.verdict() + ", SystemComponentsHealthy " + l.components(), after: time.Since(began), writes: len(l.writes.since(began))})
}

// killedFor is longer than any failure of a node or a pair stays undetected, and than the
// progressingThreshold.
const killedFor = 2 * time.Minute

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
