// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

func withVPA(facts *plugin.Facts) { facts.VPA = true }

func TestAutoscalingModes(t *testing.T) {
	const resources = ", resources: {node: {cpu: 300m}, typha: {memory: 1Gi}}}"
	for _, test := range []struct {
		name, config   string
		options        []option
		verticals      bool
		preserves      bool
		node, typha    string
		warnsResources bool
	}{
		{name: "default", verticals: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "cluster-proportional", config: "autoScaling: {mode: cluster-proportional" + resources,
			verticals: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi", warnsResources: true},
		{name: "vpa without one in the Shoot", config: "autoScaling: {mode: vpa}", verticals: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "vpa", config: "autoScaling: {mode: vpa}", options: []option{withVPA}, verticals: true, preserves: true, node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "static", config: "autoScaling: {mode: static}", node: "250m/100Mi", typha: "200m/100Mi"},
		{name: "static with resources", config: "autoScaling: {mode: static" + resources, node: "300m/100Mi", typha: "200m/1Gi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config, test.options...)
			for name, kinds := range map[string][]string{
				"calico-typha-vertical-autoscaler": {"Deployment", "ConfigMap"},
				"typha-cpva":                       {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"},
				"calico-node-vertical-autoscaler":  {"Deployment", "ConfigMap"},
				"calico-node-cpva":                 {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"},
			} {
				for _, kind := range kinds {
					g.Expect(n.has(kind, name)).To(Equal(test.verticals), "%s %s", kind, name)
				}
			}
			g.Expect(n.has("Deployment", "calico-typha-horizontal-autoscaler")).To(BeTrue())
			typha := need[*appsv1.Deployment](n, "calico-typha-deploy")
			for _, annotations := range []map[string]string{n.node().Annotations, typha.Annotations} {
				_, preserves := annotations["resources.gardener.cloud/preserve-resources"]
				g.Expect(preserves).To(Equal(test.preserves))
			}
			g.Expect(requested(n.container("calico-node"))).To(Equal(test.node))
			g.Expect(requested(typhaContainer(n))).To(Equal(test.typha))
			g.Expect(n.warned("autoScaling.resources.node.cpu") != nil).To(Equal(test.warnsResources))
		})
	}
}

func requested(container corev1.Container) string {
	return container.Resources.Requests.Cpu().String() + "/" + container.Resources.Requests.Memory().String()
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

func TestModeVPASaysThatItIsNotInForce(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "autoScaling: {mode: vpa}").warned("autoScaling.mode")).To(ConsistOf(
		"vpa is not in force, cluster-proportional is: the Shoot has no vertical pod autoscaler"))
	g.Expect(build(t, "autoScaling: {mode: vpa}", withVPA).warned("autoScaling.mode")).To(ConsistOf(
		"vpa is not in force, cluster-proportional is: this version does not bring VerticalPodAutoscaler objects"))
}
