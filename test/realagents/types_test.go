// SPDX-License-Identifier: Apache-2.0

package realcalico

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// policy is a user's, which flannel would not enforce.
const policy = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: default}
spec: {podSelector: {matchLabels: {app: none}}, policyTypes: [Ingress]}
`

// A running cluster goes from Calico to flannel and back, node by node, over routes that the router has. What Calico
// leaves behind on a node goes, and after the way back Calico enforces policies again.
func TestTheTypeChangesFromCalicoAndBack(t *testing.T) {
	result := begin(t, "Calico to flannel, and back")
	l := newLandscape(t, network{config: none, nodes: 3})
	l.apply()
	l.Expect(l.shoot.MakeRoutes(t.Context())).To(Succeed())
	l.becomesWell()
	result.well = time.Since(l.shoot.Applied)

	hostGateway := map[string]any{
		"apiVersion": "flannel.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig", "backend": map[string]any{"type": "host-gw"},
	}
	calico := map[string]any{
		"apiVersion": "calico.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig",
		"overlay": map[string]any{"enabled": false}, "typha": map[string]any{"enabled": false}, "autoScaling": map[string]any{"mode": "static"},
	}
	l.manifest("apply", policy)
	l.changeType("flannel", hostGateway)
	l.Eventually(l.description).Should(ContainSubstring("the type of the network is not changed while the cluster has the NetworkPolicy default/deny"))

	// Pods that no controller starts again keep their nodes from being drained, so that only node-1 changes.
	servers, err := l.shoot.Servers(t.Context(), "node-2", "node-3")
	l.Expect(err).NotTo(HaveOccurred())
	load, err := l.shoot.Send(t.Context(), servers)
	l.Expect(err).NotTo(HaveOccurred())
	l.manifest("delete", policy)
	l.Eventually(l.progress).WithTimeout(5 * time.Minute).WithPolling(2 * time.Second).Should(And(
		ContainSubstring(`"nodesDone":1`), MatchRegexp(`node node-[23]: the pod default/\S+ has no controller that would start it on another node: delete it`)))
	reports, err := load.End(t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(reports).To(HaveLen(2))
	for _, report := range reports {
		t.Logf("while node-1 went from Calico to flannel, %s", report)
		l.Expect(report.UDP.Sent).To(BeNumerically(">", 1000))
		l.Expect(report.UDP.Lost).To(BeNumerically("<=", dropped))
		l.Expect(report.HTTP.Lost + report.Kept.Lost).To(BeZero())
		result.lost = append(result.lost, report)
	}
	for _, server := range servers {
		l.Expect(l.shoot.Cluster.Delete(t.Context(), server)).To(Succeed())
	}

	began := time.Now()
	l.hasAgents("kube-flannel-ds")
	l.becomesWell()
	t.Logf("all nodes have flannel %.0f s after their pods may leave", time.Since(began).Seconds())
	left, err := l.shoot.Node("node-1").Exec(t.Context(), "sh", "-c",
		"ls /etc/cni/net.d /var/lib; ip -brief link; nft list tables; iptables-nft-save; iptables-legacy-save; ipset list -n; ip route")
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(string(left)).NotTo(ContainSubstring("cali"))
	t.Logf("%s", left)

	began = time.Now()
	l.changeType("calico", calico)
	l.hasAgents("calico-node")
	l.becomesWell()
	t.Logf("all nodes have Calico %.0f s after the edit", time.Since(began).Seconds())
	left, err = l.shoot.Node("node-1").Exec(t.Context(), "sh", "-c", "ls /etc/cni/net.d; ip route show root 100.96.0.0/11; iptables-nft-save")
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(string(left)).NotTo(Or(ContainSubstring(" via "), ContainSubstring("FLANNEL-"), ContainSubstring("flannel")), "flannel's routes to nodes that may be gone tomorrow")
	pods := l.senders()
	l.allReach(pods[:2])
	l.policiesWork(pods[0], pods[1])
	l.nothingIsForbidden()
	result.removed = l.remove()
	l.agentsAreGone()
	result.passed = true
}

// changeType edits the Shoot, as its owner does.
func (l *landscape) changeType(networkType string, config map[string]any) {
	l.t.Helper()
	l.Expect(l.shoot.Edit(l.t.Context(), func(shoot *unstructured.Unstructured) {
		shoot.SetAnnotations(map[string]string{extensionsv1alpha1.ChangeTypeAnnotation: extensionsv1alpha1.ChangeTypeAllowed})
		networking := shoot.Object["spec"].(map[string]any)["networking"].(map[string]any)
		networking["type"], networking["providerConfig"] = networkType, config
	})).To(Succeed())
}

// description is what the Shoot's status says about the last operation.
func (l *landscape) description() (string, error) {
	shoot, err := l.shoot.Current(l.t.Context())
	if err != nil || shoot.Status.LastOperation == nil {
		return "", err
	}
	return shoot.Status.LastOperation.Description, nil
}

// progress is how far the change of the type is, with what helps to find out why it is not further.
func (l *landscape) progress() string {
	network, err := l.shoot.Network(l.t.Context())
	if err != nil {
		return err.Error()
	}
	var shown string
	if network.Status.ProviderStatus != nil {
		shown = string(network.Status.ProviderStatus.Raw)
	}
	pods, _ := l.shoot.Kubectl(l.t.Context(), "", "get", "nodes,pods", "-A", "-o", "wide")
	return fmt.Sprintf("%s\n%+v\n%s", shown, network.Status.LastError, pods)
}

// hasAgents waits until the nodes have these agents alone, and are at no step.
func (l *landscape) hasAgents(agents string) {
	l.t.Helper()
	l.Eventually(func(g Gomega) {
		nodes := l.must("get", "nodes", "-o", "jsonpath={.items[*].metadata.annotations}{.items[*].spec}")
		g.Expect(nodes).NotTo(Or(ContainSubstring(extensionsv1alpha1.ExchangeAnnotation), ContainSubstring("unschedulable")))
		names := l.must("-n", "kube-system", "get", "pods", "-o", "jsonpath={.items[*].metadata.generateName}")
		for _, each := range []string{"kube-flannel-ds-", "calico-node-", "trellis-cleaner-"} {
			if each == agents+"-" {
				g.Expect(names).To(ContainSubstring(each))
			} else {
				g.Expect(names).NotTo(ContainSubstring(each))
			}
		}
	}).WithTimeout(15*time.Minute).WithPolling(2*time.Second).Should(Succeed(), l.progress)
}
