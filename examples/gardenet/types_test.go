// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// A running cluster goes from gardenet to flannel and back, node by node, and pods talk again on each node before
// the next one begins.
func TestTypesChangeOnRealNodes(t *testing.T) {
	hostGateway := map[string]any{"apiVersion": "flannel.networking.extensions.gardener.cloud/v1alpha1", "kind": "NetworkConfig", "backend": map[string]any{"type": "host-gw"}}
	for i, name := range []string{"one-subnet", "two-subnets"} {
		t.Run(name, func(t *testing.T) {
			typesChange(t, talking(t, name, sandbox.RealNodes{Nodes: 3, Subnets: i + 1}, plugin.New(definition{}), flannel.New()), hostGateway)
		})
	}
}

// Flannel encapsulates packets once all nodes have it, and none any more before it gives way to gardenet. This takes a
// quarter of an hour, for its steps.
func TestNetworksEncapsulateBeforeAndAfterAChangeOfTheType(t *testing.T) {
	typesChange(t, talking(t, "vxlan", sandbox.RealNodes{Nodes: 3}, plugin.New(definition{}), flannel.New()), nil)
}

// typesChange has flannel with this config, or its default VXLAN, take gardenet's place, and back.
func typesChange(t *testing.T, shoot *standalone.Shoot, flannel map[string]any) {
	g := NewWithT(t)
	change := func(networkType string, config map[string]any, annotations map[string]any) {
		t.Helper()
		g.Expect(shoot.Edit(t.Context(), func(shoot *unstructured.Unstructured) {
			metadata := shoot.Object["metadata"].(map[string]any)
			delete(metadata, "annotations")
			if annotations != nil {
				metadata["annotations"] = annotations
			}
			networking := shoot.Object["spec"].(map[string]any)["networking"].(map[string]any)
			networking["type"] = networkType
			delete(networking, "providerConfig")
			if config != nil {
				networking["providerConfig"] = config
			}
		})).To(Succeed())
	}
	allowed := map[string]any{extensionsv1alpha1.ChangeTypeAnnotation: extensionsv1alpha1.ChangeTypeAllowed}

	says := func() (string, error) {
		shoot, err := shoot.Current(t.Context())
		if err != nil || shoot.Status.LastOperation == nil {
			return "", err
		}
		return shoot.Status.LastOperation.Description, nil
	}
	change("flannel", flannel, nil)
	g.Eventually(says).WithTimeout(time.Minute).Should(ContainSubstring("the cluster's network was made with gardenet: set it back; or annotate the Shoot"))

	agentsAre := func(name string) func(g Gomega) {
		return func(g Gomega) {
			nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
			g.Expect(shoot.Cluster.List(t.Context(), nodes)).To(Succeed())
			g.Expect(shoot.Cluster.List(t.Context(), pods)).To(Succeed())
			for i := range nodes.Items {
				g.Expect(nodes.Items[i].Spec.Unschedulable).To(BeFalse())
				g.Expect(nodes.Items[i].Annotations).NotTo(HaveKey(extensionsv1alpha1.ExchangeAnnotation))
			}
			agents := map[string]int{}
			for i := range pods.Items {
				for _, each := range []string{"gardenet", "kube-flannel-ds", "trellis-cleaner"} {
					if pods.Items[i].GenerateName == each+"-" {
						agents[each]++
					}
				}
			}
			g.Expect(agents).To(Equal(map[string]int{name: len(nodes.Items)}))
		}
	}
	progress := func() string {
		network, err := shoot.Network(t.Context())
		if err != nil {
			return err.Error()
		}
		var shown struct{ Transition json.RawMessage }
		if network.Status.ProviderStatus != nil {
			_ = json.Unmarshal(network.Status.ProviderStatus.Raw, &shown)
		}
		nodes, _ := shoot.Kubectl(t.Context(), "", "get", "nodes,pods", "-A", "-o", "wide")
		labels, _ := shoot.Kubectl(t.Context(), "", "get", "nodes", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.labels} {.metadata.annotations}{\"\\n\"}{end}")
		return fmt.Sprintf("%s\n%+v\n%s\n%s", shown.Transition, network.Status.LastError, nodes, labels)
	}
	isDone := func(g Gomega) {
		network, err := shoot.Network(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		for _, each := range network.Status.Conditions {
			g.Expect(each.Type).NotTo(Equal(extensionsv1alpha1.TransitionProgressing))
		}
	}
	// Pods that no controller starts again keep their node from being drained. So the change stands still while they
	// run, with node-1 in the other network already, and none of their packets may be lost.
	servers, err := shoot.Servers(t.Context(), "node-2", "node-3")
	g.Expect(err).NotTo(HaveOccurred())
	load, err := shoot.Send(t.Context(), servers)
	g.Expect(err).NotTo(HaveOccurred())
	change("flannel", flannel, allowed)
	g.Eventually(progress).WithTimeout(5 * time.Minute).WithPolling(2 * time.Second).Should(And(
		ContainSubstring(`"nodesDone":1`), MatchRegexp(`node node-[23]: the pod default/\S+ has no controller that would start it on another node: delete it`)))
	reports, err := load.End(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reports).To(HaveLen(2))
	for _, report := range reports {
		t.Logf("while node-1 went from gardenet to flannel, %s", report)
		g.Expect(report.UDP.Sent).To(BeNumerically(">", 1000))
		g.Expect(report.UDP.Lost).To(BeNumerically("<=", 2))
		g.Expect(report.HTTP.Lost + report.Kept.Lost).To(BeZero())
	}
	for _, server := range servers {
		g.Expect(shoot.Cluster.Delete(t.Context(), server)).To(Succeed())
	}

	for _, each := range []struct {
		networkType, agents string
		config              map[string]any
	}{{"flannel", "kube-flannel-ds", flannel}, {"gardenet", "gardenet", nil}} {
		began := time.Now()
		change(each.networkType, each.config, allowed)
		g.Eventually(agentsAre(each.agents)).WithTimeout(15*time.Minute).WithPolling(2*time.Second).Should(Succeed(), progress)
		g.Eventually(verdictOf(t, shoot)).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Equal(standalone.AllWell))
		t.Logf("all nodes have %s %.0f s after the edit", each.networkType, time.Since(began).Seconds())
		if each.networkType == "flannel" && flannel == nil {
			interfaces := func() (string, error) {
				told, err := shoot.Node("node-1").Exec(t.Context(), "ip", "-brief", "link")
				return string(told), err
			}
			g.Eventually(interfaces).WithTimeout(10*time.Minute).WithPolling(2*time.Second).Should(ContainSubstring("flannel.1"), progress)
			g.Eventually(isDone).WithTimeout(10*time.Minute).WithPolling(2*time.Second).Should(Succeed(), progress)
		}
		left, err := shoot.Node("node-1").Exec(t.Context(), "sh", "-c", "ls /etc/cni/net.d; ip -brief link; nft list tables; ip route")
		g.Expect(err).NotTo(HaveOccurred())
		t.Logf("%s", left)
	}
}
