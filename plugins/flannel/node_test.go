// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

func TestFlannelRunsOnEveryNode(t *testing.T) {
	g := NewWithT(t)
	node := build(t, "").node()
	g.Expect(node.Namespace).To(Equal("kube-system"))
	g.Expect(node.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app": "flannel"}))
	for _, labels := range []map[string]string{node.Labels, node.Spec.Template.Labels} {
		for name, value := range map[string]string{"app": "flannel", "tier": "node", "k8s-app": "flannel",
			"gardener.cloud/role": "system-component", "node.gardener.cloud/critical-component": "true"} {
			g.Expect(labels).To(HaveKeyWithValue(name, value))
		}
	}
	pod := node.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName).To(Equal("flannel system-node-critical"))
	g.Expect(build(t, "").Objects.Components).To(Equal([]plugin.Component{
		{Name: "nodes", Kind: "DaemonSet", Workload: "kube-flannel-ds", Namespace: "kube-system"}}))
}

func TestTheDaemon(t *testing.T) {
	g := NewWithT(t)
	daemon := build(t, "").container("kube-flannel")
	g.Expect(daemon.Command[:2]).To(Equal([]string{"/bin/sh", "-c"}))
	g.Expect(daemon.Command[2]).To(HaveSuffix(`exec /opt/bin/flanneld "$@"`))
	g.Expect(daemon.Command[3]).To(Equal("flanneld"))
	g.Expect(daemon.Args).To(Equal([]string{"--ip-masq", "--kube-subnet-mgr"}))
	g.Expect(*daemon.SecurityContext.Privileged).To(BeFalse())
	g.Expect(daemon.SecurityContext.Capabilities.Add).To(Equal([]corev1.Capability{"NET_ADMIN", "NET_RAW"}))
	var names []string
	for _, variable := range daemon.Env {
		names = append(names, variable.Name)
	}
	g.Expect(names).To(Equal([]string{"POD_NAME", "POD_NAMESPACE", "EVENT_QUEUE_DEPTH", "CONT_WHEN_CACHE_NOT_READY"}))
	g.Expect(built.Mounts(daemon)).To(HaveExactElements("run:/run/flannel", "flannel-cfg:/etc/kube-flannel", "xtables-lock:/run/xtables.lock"))
}

func TestResourcesOfTheDaemon(t *testing.T) {
	for config, want := range map[string]string{
		"":                                "cpu 100m, memory 50Mi; limits cpu 0, memory 0",
		"resources: {requests: {cpu: 1}}": "cpu 1, memory 50Mi; limits cpu 0, memory 0",
		"resources: {requests: {memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}": "cpu 100m, memory 1Gi; limits cpu 2, memory 1Gi",
	} {
		t.Run(config, func(t *testing.T) {
			resources := build(t, config).container("kube-flannel").Resources
			got := fmt.Sprintf("cpu %s, memory %s; limits cpu %s, memory %s", resources.Requests.Cpu(), resources.Requests.Memory(),
				resources.Limits.Cpu(), resources.Limits.Memory())
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

// The CNI configuration comes last: with it the node says that it is ready.
func TestWhatIsPutOntoTheNode(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, container := range build(t, "").node().Spec.Template.Spec.InitContainers {
		got = append(got, container.Name+": "+strings.Join(append(container.Command, container.Args...), " ")+" with "+strings.Join(built.Mounts(container), " "))
	}
	const bin = "/usr/src/cni/bin/"
	g.Expect(got).To(Equal([]string{
		"install-cni-plugins: cp -f " + bin + "bridge " + bin + "host-local " + bin + "loopback " + bin + "portmap /opt/cni/bin/ with cni-plugin:/opt/cni/bin",
		"install-cni-plugin: cp -f /flannel /opt/cni/bin/flannel with cni-plugin:/opt/cni/bin",
		"install-cni: cp -f /etc/kube-flannel/cni-conf.json /etc/cni/net.d/10-flannel.conflist with cni:/etc/cni/net.d flannel-cfg:/etc/kube-flannel",
	}))
}

func TestRightsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, rule := range need[*rbacv1.ClusterRole](build(t, ""), "flannel").Rules {
		got = append(got, strings.Join(rule.Resources, ",")+": "+strings.Join(rule.Verbs, ","))
	}
	g.Expect(got).To(Equal([]string{"pods: get", "nodes: get,list,watch", "nodes/status: patch"}))
}

func TestEveryImageRunsSomewhereAndCanBeReplaced(t *testing.T) { networks.ExpectImages(t, "") }

func TestREADMEHasExactlyTheImagesThatThereAre(t *testing.T) { built.ExpectImagesInREADME(t) }
