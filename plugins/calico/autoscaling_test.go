// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/test/built"
)

// What scales what, with and without Typha, is as in Gardener's extension.
func TestAutoscalingModes(t *testing.T) {
	const resources = ", resources: {node: {cpu: 300m}, typha: {memory: 1Gi}}}"
	for _, test := range []struct {
		name, config string
		options      []option
		proportional bool // cpva scales, and not VPA
		vpa          bool
		preserves    bool
		node, typha  string
	}{
		{name: "unset", proportional: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "unset, VPA wanted", options: []option{withVPA}, proportional: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "cluster-proportional", config: "autoScaling: {mode: cluster-proportional" + resources,
			proportional: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "cluster-proportional, VPA wanted", config: "autoScaling: {mode: cluster-proportional}", options: []option{withVPA},
			proportional: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "vpa, VPA not wanted", config: "autoScaling: {mode: vpa" + resources,
			proportional: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "vpa, VPA wanted", config: "autoScaling: {mode: vpa}", options: []option{withVPA},
			vpa: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "vpa with resources, VPA wanted", config: "autoScaling: {mode: vpa" + resources, options: []option{withVPA},
			vpa: true, preserves: true, node: "300m/100Mi", typha: "200m/100Mi"},
		{name: "static", config: "autoScaling: {mode: static}", node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "static with resources", config: "autoScaling: {mode: static" + resources, node: "300m/100Mi", typha: "200m/1Gi"},
		{name: "static with resources, VPA wanted", config: "autoScaling: {mode: static" + resources, options: []option{withVPA},
			node: "300m/100Mi", typha: "200m/1Gi"},
	} {
		for _, typha := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, typha %t", test.name, typha), func(t *testing.T) {
				g := NewWithT(t)
				n := build(t, fmt.Sprintf("{typha: {enabled: %t}, %s}", typha, test.config), test.options...)
				expectEach(g, n, test.proportional, "calico-node-vertical-autoscaler", "Deployment", "ConfigMap")
				expectEach(g, n, test.proportional, "calico-node-cpva", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
				expectEach(g, n, test.proportional && typha, "calico-typha-vertical-autoscaler", "Deployment", "ConfigMap")
				expectEach(g, n, test.proportional && typha, "typha-cpva", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")
				expectEach(g, n, test.vpa, "calico-node", "VerticalPodAutoscaler")
				expectEach(g, n, test.vpa && typha, "calico-typha", "VerticalPodAutoscaler")
				expectEach(g, n, typha, "calico-typha-horizontal-autoscaler", "Deployment", "ConfigMap")
				expectEach(g, n, typha, "typha-cpha", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
				g.Expect(preservesResources(n.node().Annotations)).To(Equal(test.preserves))
				g.Expect(requested(n.container("calico-node"))).To(Equal(test.node))
				if typha {
					deployment := need[*appsv1.Deployment](n, "calico-typha-deploy")
					g.Expect(deployment.Spec.Replicas).To(BeNil())
					g.Expect(preservesResources(deployment.Annotations)).To(Equal(test.preserves))
					g.Expect(requested(typhaContainer(n))).To(Equal(test.typha))
				}
			})
		}
	}
}

// expectEach expects that there are, or are not, objects of these kinds under name.
func expectEach(g *WithT, n *network, want bool, name string, kinds ...string) {
	n.T.Helper()
	for _, kind := range kinds {
		g.Expect(n.has(kind, name)).To(Equal(want), "%s %s", kind, name)
	}
}

func preservesResources(annotations map[string]string) bool {
	return annotations["resources.gardener.cloud/preserve-resources"] == "true"
}

func requested(container corev1.Container) string {
	return built.Requested(container.Resources.Requests)
}

func TestParametersOfTheAutoscalers(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	g.Expect(n.data("calico-typha-horizontal-autoscaler")["ladder"]).To(MatchJSON(
		`{"coresToReplicas": [], "nodesToReplicas": [[1,1],[2,2],[100,3],[250,4],[500,5],[1000,6],[1500,7],[2000,8]]}`))
	g.Expect(n.data("calico-node-vertical-autoscaler")["node-autoscaler"]).To(MatchJSON(
		`{"calico-node": {"requests": {"memory": {"base": "50Mi", "step": "50Mi", "nodesPerStep": 10, "max": "1400Mi"}}}}`))
	g.Expect(n.data("calico-typha-vertical-autoscaler")["typha-autoscaler"]).To(MatchJSON(
		`{"calico-typha": {"requests": {
			"cpu": {"base": "180m", "step": "140m", "nodesPerStep": 17, "max": "1000m"},
			"memory": {"base": "180Mi", "step": "70Mi", "nodesPerStep": 17, "max": "2000Mi"}}}}`))
}

func TestAutoscalersRestartWithTheirConfiguration(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	for _, name := range []string{"calico-typha-horizontal-autoscaler", "calico-typha-vertical-autoscaler", "calico-node-vertical-autoscaler"} {
		template := need[*appsv1.Deployment](n, name).Spec.Template
		g.Expect(template.Annotations).To(HaveKeyWithValue("checksum/configmap-"+name, HaveLen(64)))
	}
}
