// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

const (
	operatorSelector = "io.cilium/app=operator name=cilium-operator"
	operatorLabels   = "app.kubernetes.io/name=cilium-operator app.kubernetes.io/part-of=cilium " + operatorSelector
)

func selecting(label, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
}

func TestTheOperator(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	operator := n.operator()
	g.Expect(pairs(operator.Labels)).To(Equal(operatorLabels))
	g.Expect(pairs(operator.Spec.Selector.MatchLabels)).To(Equal(operatorSelector))
	g.Expect(pairs(operator.Spec.Template.Labels)).To(Equal(operatorLabels + reachesAll))
	annotations := operator.Spec.Template.Annotations
	delete(annotations, "checksum/configmap-cilium")
	g.Expect(pairs(annotations)).To(Equal("prometheus.io/port=6942 prometheus.io/scrape=true"))
	g.Expect(*operator.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	rolling := operator.Spec.Strategy.RollingUpdate
	g.Expect(rolling.MaxSurge.String() + " " + rolling.MaxUnavailable.String()).To(Equal("1 1"))
	pod := operator.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName + " " + string(pod.RestartPolicy)).To(
		Equal("cilium-operator system-cluster-critical Always"))
	g.Expect(*pod.SecurityContext).To(Equal(sharedGroup))
	g.Expect(tolerations(pod)).To(HaveExactElements(
		"node-role.kubernetes.io/control-plane Exists", "node-role.kubernetes.io/master Exists", "node.kubernetes.io/not-ready Exists",
		"node.cloudprovider.kubernetes.io/uninitialized Exists", "node.cilium.io/agent-not-ready Exists",
		"node.gardener.cloud/critical-components-not-ready Exists"))
	g.Expect(*pod.Affinity).To(Equal(corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: beside("io.cilium/app", "operator"),
	}}))
	g.Expect(volumesOf(pod)).To(ConsistOf("cilium-config-path=ConfigMap/cilium-config", "label-prefix=ConfigMap/label-prefix-conf:0644"))
}

func TestTheOperatorsContainer(t *testing.T) {
	for name, test := range loopbacks {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, "", test.families).operator().Spec.Template.Spec.Containers[0]
			g.Expect(container.Name).To(Equal("cilium-operator"))
			g.Expect(container.Image).To(Equal("quay.io/cilium/operator:v1.19.7"), "the one for all clouds")
			g.Expect(strings.Join(append(container.Command, container.Args...), " ")).To(
				Equal("cilium-operator --config-dir=/tmp/cilium/config-map --debug=$(CILIUM_DEBUG)"))
			g.Expect(portsOf(container)).To(Equal("prometheus:6942/TCP@6942 health:9234/TCP@9234"))
			health := "GET " + test.address + ":health/healthz"
			g.Expect(probe(container.LivenessProbe)).To(Equal(health + ", delay 60, period 10, timeout 3, failures 0"))
			g.Expect(probe(container.ReadinessProbe)).To(Equal(health + ", delay 0, period 5, timeout 3, failures 5"))
			g.Expect(requested(container.Resources.Requests)).To(Equal("150Mi"))
			g.Expect(access(container.SecurityContext)).To(Equal("no escalation -ALL"))
			g.Expect(mountsOf(container)).To(ConsistOf("cilium-config-path:/tmp/cilium/config-map:ro", "label-prefix:/tmp/cilium/label-prefix:ro"))
			g.Expect(container.TerminationMessagePolicy).To(Equal(corev1.TerminationMessageFallbackToLogsOnError))
		})
	}
}

func TestTheOperatorFindsTheAPIServerWithoutServices(t *testing.T) {
	const user = "kubeproxy: {k8sServiceHost: 10.0.0.1, k8sServicePort: 6443}"
	for _, test := range []struct {
		name, config string
		options      []option
		host, port   string
	}{
		{name: "kube-proxy leads there"},
		{name: "kube-proxy leads there, whatever the user says", config: user},
		{name: "by the address that the Shoot advertises", options: noKubeProxy, host: "api.one.test.example.com"},
		{name: "by the user's word", config: user, options: noKubeProxy, host: "10.0.0.1", port: "6443"},
		{name: "half of the user's word is none", config: "kubeproxy: {k8sServiceHost: 10.0.0.1}", options: noKubeProxy, host: "api.one.test.example.com"},
		{name: "half of the user's word is none", config: "kubeproxy: {k8sServicePort: 6443}", options: noKubeProxy, host: "api.one.test.example.com"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := map[string]string{
				"K8S_NODE_NAME": "field spec.nodeName", "CILIUM_K8S_NAMESPACE": "field metadata.namespace", "CILIUM_DEBUG": "key cilium-config/debug",
			}
			if test.host != "" {
				want["KUBERNETES_SERVICE_HOST"] = test.host
			}
			if test.port != "" {
				want["KUBERNETES_SERVICE_PORT"] = test.port
			}
			operator := build(t, test.config, test.options...).operator()
			NewWithT(t).Expect(envOf(t, operator.Spec.Template.Spec.Containers[0])).To(Equal(want))
		})
	}
}

func TestStandaloneAllOfThemFindTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "", withoutKubeProxy, func(f *plugin.Input) { f.PodAccess = &plugin.PodAccess{Host: "10.1.2.3", Port: "6443"} })
	for name, template := range n.templates() {
		for _, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
			env := envOf(t, container)
			g.Expect(env["KUBERNETES_SERVICE_HOST"]+":"+env["KUBERNETES_SERVICE_PORT"]).To(Equal("10.1.2.3:6443"), "%s of %s", container.Name, name)
		}
	}
}

func TestTwoOperatorsNeedTwoNodes(t *testing.T) {
	contract.Shows(t, "P5")
	const label = "high-availability-config.resources.gardener.cloud/type"
	for nodes, available := range map[int32]bool{0: false, 1: false, 2: true, 3: true, 100: true} {
		g := NewWithT(t)
		operator := build(t, "", withNodes(nodes)).operator()
		if available {
			g.Expect(operator.Labels).To(HaveKeyWithValue(label, "controller"), "%d nodes", nodes)
		} else {
			g.Expect(operator.Labels).NotTo(HaveKey(label), "%d nodes", nodes)
		}
		g.Expect(*operator.Spec.Replicas).To(Equal(int32(1)), "Gardener makes two of one")
		alone := build(t, "", withNodes(nodes), standalone).operator()
		g.Expect(*alone.Spec.Replicas).To(Equal(min(int32(2), max(1, nodes))), "%d nodes", nodes)
		g.Expect(operator.Spec.Template.Labels).NotTo(HaveKey(label))
	}
}

func TestDrainingDoesNotHangOnTheOperator(t *testing.T) {
	g := NewWithT(t)
	budget := need[*policyv1.PodDisruptionBudget](build(t, ""), "cilium-operator")
	g.Expect(pairs(budget.Labels)).To(Equal(operatorSelector))
	g.Expect(pairs(budget.Spec.Selector.MatchLabels)).To(Equal(operatorSelector))
	g.Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(1))
	g.Expect(*budget.Spec.UnhealthyPodEvictionPolicy).To(Equal(policyv1.AlwaysAllow))
}
