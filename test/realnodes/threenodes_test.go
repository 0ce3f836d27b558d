// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

func TestWhatFailsBetweenThreeNodesIsKnown(t *testing.T) {
	sideBySide(t, 13*time.Minute)
	l := newLandscape(t, 3)
	l.talks()
	name, withDNS := l.nodes()
	victim := l.node(name)
	third := map[string]string{"node-1": "node-2", "node-2": "node-3", "node-3": "node-1"}[withDNS]
	if third == name {
		third = map[string]string{"node-1": "node-3", "node-2": "node-1", "node-3": "node-2"}[withDNS]
	}
	l.isMendedAtOnce(withDNS)
	l.suffers(fault{
		name:    "one pair of three nodes, one direction",
		breaks:  func() error { return victim.Fault(t.Context(), sandbox.Faults{CutOffFrom: []string{third}}) },
		mends:   func() error { return victim.Heal(t.Context()) },
		verdict: "False dns !nodes !pods services", within: pairFails,
		message: "ConnectivityTestsFailed: Nodes " + min(name, third) + " and " + max(name, third) + ": the tests pods and nodes fail between them\\.",
	})
	// The repair counts from when the node's pods run again.
	l.suffers(fault{
		name:   "node killed, and started",
		breaks: func() error { return victim.Kill(t.Context()) },
		mends: func() error {
			killed := time.Now()
			err := victim.Start(t.Context())
			l.Eventually(l.probeStarted).WithArguments(name).Should(BeTemporally(">", killed), "the pods of the node run again")
			return err
		},
		verdict: "False dns !nodes !pods services", within: nodeFails,
		message: "ConnectivityTestsFailed: Node " + name + ": the tests pods and nodes fail from and to other nodes\\.",
	})
	scale := func(replicas string) func() error {
		return func() error {
			l.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas="+replicas)
			return nil
		}
	}
	l.suffers(fault{
		name: "CoreDNS gone", breaks: scale("0"), mends: scale("1"),
		verdict: "False !dns nodes pods services", within: pairFails,
		message: "ConnectivityTestsFailed: Nodes node-1, node-2 and node-3: the test dns fails there, .*",
	})
	l.Expect(victim.Fault(t.Context(), sandbox.Faults{LossPercent: 30})).To(Succeed())
	// One question in eight has no answer, asked three times over UDP, so that names may fail for moments.
	undisturbed(func() { l.bears("30 % loss in each direction", 2*time.Minute, " nodes pods services") })
	attempts, failures := l.attempts(name)
	l.Expect(failures).To(BeNumerically(">", 0), "reports tell that packets are lost")
	t.Logf("30 %% loss in each direction: of the last %d attempts from and to the node %d failed", attempts, failures)
}

// isMendedAtOnce cuts the link of the node with CoreDNS, which takes DNS along, and mends it as soon as
// the status tells that it is down.
func (l *landscape) isMendedAtOnce(name string) {
	l.t.Helper()
	l.restsBefore(nodeFails)
	var began time.Time
	var verdict string
	var after, again time.Duration
	undisturbed(func() {
		began = time.Now()
		l.Expect(l.node(name).Fault(l.t.Context(), sandbox.Faults{LinkDown: true})).To(Succeed())
		after = l.becomes(HavePrefix("False"), nodeFails)
		verdict = l.verdict()
		l.Expect(l.message()).To(ContainSubstring("Node " + name + ": the tests pods and nodes fail from and to other nodes."))
		l.Expect(l.node(name).Heal(l.t.Context())).To(Succeed())
		again = l.becomes(Equal(standalone.AllWell), repaired)
	})
	faults.add(row{"link of the node with CoreDNS down, mended at once", verdict, after, again, len(l.writes.since(began))})
	l.expectFewWrites(l.shoot.Applied)
}

// probeStarted returns when the probe on a node has last started, if it is ready.
func (l *landscape) probeStarted(node string) (started time.Time) {
	pods := &corev1.PodList{}
	l.Expect(l.shoot.Cluster.List(l.t.Context(), pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingFields{"spec.nodeName": node})).To(Succeed())
	for i := range pods.Items {
		for _, container := range pods.Items[i].Status.ContainerStatuses {
			if running := container.State.Running; container.Name == "probe" && container.Ready && running != nil {
				started = running.StartedAt.Time
			}
		}
	}
	return started
}

// attempts returns how many attempts the last reports count between a node and others, and how many
// of them failed.
func (l *landscape) attempts(node string) (all, failed int32) {
	reports := &connectivityv1alpha1.NodeConnectivityList{}
	l.Expect(l.shoot.Cluster.List(l.t.Context(), reports)).To(Succeed())
	for _, each := range reports.Items {
		for _, check := range each.Report.Checks {
			for _, result := range check.Results {
				if (each.Name == node) != (result.Name == node) {
					all, failed = all+result.Attempts, failed+result.Failures
				}
			}
		}
	}
	return all, failed
}
