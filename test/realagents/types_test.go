// SPDX-License-Identifier: Apache-2.0

package realagents

import (
	"fmt"
	"maps"
	"strings"
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

// shared is a type of network, as it can share a cluster with the other ones.
type shared struct {
	typeOf string
	config map[string]any
	// daemonSet are its agents. left is part of the names of all that they leave on a node.
	daemonSet, left string
}

func configOf(networkType string, fields map[string]any) map[string]any {
	config := map[string]any{"apiVersion": networkType + ".networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig"}
	maps.Copy(config, fields)
	return config
}

var (
	sharedCalico = shared{"calico", configOf("calico", map[string]any{
		"overlay": map[string]any{"enabled": false}, "typha": map[string]any{"enabled": false}, "autoScaling": map[string]any{"mode": "static"},
	}), "calico-node", "cali"}
	sharedCilium  = shared{"cilium", configOf("cilium", map[string]any{"overlay": map[string]any{"enabled": false}}), "cilium", "cilium"}
	sharedFlannel = shared{"flannel", configOf("flannel", map[string]any{"backend": map[string]any{"type": "host-gw"}}), "kube-flannel-ds", "flannel"}
)

// A running cluster goes from one type to another and back, node by node, over routes that the router has. What the
// agents leave behind on a node goes, and after the way back they enforce policies again.
func TestTheTypeChangesFromCalicoAndBack(t *testing.T) {
	theTypeChanges(t, sharedCalico, sharedFlannel, network{config: none, nodes: 3})
}

func TestTheTypeChangesFromCiliumAndBack(t *testing.T) {
	theTypeChanges(t, sharedCilium, sharedFlannel, network{is: "cilium", config: native, nodes: 3})
}

func TestTheTypeChangesFromCalicoToCiliumAndBack(t *testing.T) {
	theTypeChanges(t, sharedCalico, sharedCilium, network{config: none, further: []string{"cilium"}, nodes: 3})
}

func theTypeChanges(t *testing.T, from, to shared, made network) {
	result := begin(t, from.typeOf+" to "+to.typeOf+", and back")
	l := newLandscape(t, made)
	l.apply()
	l.Expect(l.shoot.MakeRoutes(t.Context())).To(Succeed())
	l.becomesWell()
	result.well = time.Since(l.shoot.Applied)

	l.manifest("apply", policy)
	l.changeType(to)
	l.Eventually(l.description).Should(ContainSubstring("the type of the network is not changed while the cluster has the NetworkPolicy default/deny"))

	// Pods that no controller starts again keep their nodes from being drained, so that only node-1 changes.
	servers, err := l.shoot.Servers(t.Context(), "node-2", "node-3")
	l.Expect(err).NotTo(HaveOccurred())
	load, err := l.shoot.Send(t.Context(), servers)
	l.Expect(err).NotTo(HaveOccurred())
	l.manifest("delete", policy)
	l.Eventually(l.progress).WithTimeout(8 * time.Minute).WithPolling(2 * time.Second).Should(And(
		ContainSubstring(`"nodesDone":1`), MatchRegexp(`node node-[23]: the pod default/\S+ has no controller that would start it on another node: delete it`)))
	reports, err := load.End(t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(reports).To(HaveLen(2))
	for _, report := range reports {
		t.Logf("while node-1 went from %s to %s, %s", from.typeOf, to.typeOf, report)
		l.Expect(report.UDP.Sent).To(BeNumerically(">", 1000))
		l.Expect(report.UDP.Lost).To(BeNumerically("<=", dropped))
		l.Expect(report.HTTP.Lost + report.Kept.Lost).To(BeZero())
		result.lost = append(result.lost, report)
	}
	for _, server := range servers {
		l.Expect(l.shoot.Cluster.Delete(t.Context(), server)).To(Succeed())
	}

	began := time.Now()
	l.hasAgents(to)
	l.becomesWell()
	t.Logf("all nodes have %s %.0f s after their pods may leave", to.typeOf, time.Since(began).Seconds())
	l.nothingIsLeftOf(from)

	began = time.Now()
	l.changeType(from)
	l.hasAgents(from)
	l.becomesWell()
	t.Logf("all nodes have %s %.0f s after the edit", from.typeOf, time.Since(began).Seconds())
	l.nothingIsLeftOf(to)
	routes, err := l.shoot.Node("node-1").Exec(t.Context(), "ip", "route", "show", "root", "100.96.0.0/11")
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(string(routes)).NotTo(MatchRegexp(" via 10\\.250\\."), "routes to nodes that may be gone tomorrow")
	pods := l.senders()
	l.allReach(pods[:2])
	l.networkPoliciesWork(pods[0], pods[1])
	l.nothingIsForbidden()
	result.removed = l.remove()
	l.agentsAreGone()
	result.passed = true
}

// nothingIsLeftOf checks that nothing on node-1 has a name of a network that has left it.
func (l *landscape) nothingIsLeftOf(network shared) {
	l.t.Helper()
	left, err := l.shoot.Node("node-1").Exec(l.t.Context(), "sh", "-c",
		"ls /etc/cni/net.d /etc/sysctl.d /var/lib; if [ -e /run/cilium ]; then echo /run/cilium; fi; ip -brief link; ip rule; nft list tables; iptables-nft-save; iptables-legacy-save; ipset list -n; ip route; find /sys/fs/bpf; mount")
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(string(left)).NotTo(MatchRegexp("(?im)^.*" + network.left + ".*$"))
	taints := l.must("get", "nodes", "-o", "jsonpath={.items[*].spec.taints}")
	l.Expect(taints).NotTo(ContainSubstring(network.left))
}

// changeType edits the Shoot, as its owner does.
func (l *landscape) changeType(to shared) {
	l.t.Helper()
	l.Expect(l.shoot.Edit(l.t.Context(), func(shoot *unstructured.Unstructured) {
		shoot.SetAnnotations(map[string]string{extensionsv1alpha1.ChangeTypeAnnotation: extensionsv1alpha1.ChangeTypeAllowed})
		networking := shoot.Object["spec"].(map[string]any)["networking"].(map[string]any)
		networking["type"], networking["providerConfig"] = to.typeOf, to.config
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
func (l *landscape) hasAgents(wanted shared) {
	l.t.Helper()
	l.Eventually(func(g Gomega) {
		nodes := l.must("get", "nodes", "-o", "jsonpath={.items[*].metadata.annotations}{.items[*].spec}")
		g.Expect(nodes).NotTo(Or(ContainSubstring(extensionsv1alpha1.ExchangeAnnotation), ContainSubstring("unschedulable")))
		names := strings.Fields(l.must("-n", "kube-system", "get", "pods", "-o", "jsonpath={.items[*].metadata.ownerReferences[*].name}"))
		g.Expect(names).NotTo(ContainElement("trellis-cleaner"))
		for _, each := range []shared{sharedCalico, sharedCilium, sharedFlannel} {
			if each.typeOf == wanted.typeOf {
				g.Expect(names).To(ContainElement(each.daemonSet))
			} else {
				g.Expect(names).NotTo(ContainElement(each.daemonSet))
			}
		}
	}).WithTimeout(15*time.Minute).WithPolling(2*time.Second).Should(Succeed(), l.progress)
}
