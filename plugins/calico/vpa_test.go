// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/trellis-network/trellis/plugin"
)

func withVPA(facts *plugin.Input) { facts.VPA = true }

// podAutoscaler returns what a VerticalPodAutoscaler says of each container: Off,
// or the least that it gets.
func podAutoscaler(n *network, name string) (target string, containers map[string]string) {
	n.T.Helper()
	g := NewWithT(n.T)
	vpa := need[*vpav1.VerticalPodAutoscaler](n, name)
	g.Expect(vpa.APIVersion).To(Equal("autoscaling.k8s.io/v1"))
	g.Expect(vpa.Namespace).To(Equal("kube-system"))
	g.Expect(*vpa.Spec.UpdatePolicy.UpdateMode).To(Equal(vpav1.UpdateModeInPlaceOrRecreate))
	g.Expect(vpa.Spec.TargetRef.APIVersion).To(Equal("apps/v1"))
	containers = map[string]string{}
	for _, policy := range vpa.Spec.ResourcePolicy.ContainerPolicies {
		if policy.Mode != nil {
			g.Expect(*policy.Mode).To(Equal(vpav1.ContainerScalingModeOff))
			containers[policy.ContainerName] = "Off"
			continue
		}
		g.Expect(*policy.ControlledValues).To(Equal(vpav1.ContainerControlledValuesRequestsOnly))
		containers[policy.ContainerName] = least(policy.MinAllowed)
	}
	return vpa.Spec.TargetRef.Kind + " " + vpa.Spec.TargetRef.Name, containers
}

func least(list corev1.ResourceList) string {
	text := ""
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := list[name]; ok {
			text += string(name) + " " + quantity.String() + " "
		}
	}
	return text
}

const stated = "autoScaling: {mode: vpa, resources: {node: {cpu: 300m}, typha: {memory: 1Gi}}}"

func TestVPAScalesCalicoNodeButNotItsHelpers(t *testing.T) {
	for config, min := range map[string]string{
		"autoScaling: {mode: vpa}":                "",
		"autoScaling: {mode: vpa, resources: {}}": "",
		stated: "cpu 300m ",
		"autoScaling: {mode: vpa, resources: {node: {cpu: 1, memory: 200Mi}}}": "cpu 1 memory 200Mi ",
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			target, containers := podAutoscaler(build(t, config, withVPA), "calico-node")
			g.Expect(target).To(Equal("DaemonSet calico-node"))
			g.Expect(containers).To(Equal(map[string]string{
				"calico-node":                   min,
				"add-snat-rule-to-upstream-dns": "Off", "network-unavailable-condition-ensurer": "Off", "bird-exporter": "Off",
			}))
		})
	}
}

func TestVPAScalesTypha(t *testing.T) {
	g := NewWithT(t)
	target, containers := podAutoscaler(build(t, stated, withVPA), "calico-typha")
	g.Expect(target).To(Equal("Deployment calico-typha-deploy"))
	g.Expect(containers).To(Equal(map[string]string{"*": "memory 1Gi "}))
}

func TestVPAScalesKubeControllersInEveryMode(t *testing.T) {
	for _, mode := range []string{"cluster-proportional", "vpa", "static"} {
		t.Run(mode, func(t *testing.T) {
			g := NewWithT(t)
			scaling := "autoScaling: {mode: " + mode + "}"
			target, containers := podAutoscaler(build(t, scaling, withVPA), "calico-kube-controllers")
			g.Expect(target).To(Equal("Deployment calico-kube-controllers"))
			g.Expect(containers).To(Equal(map[string]string{"*": ""}))
			const kind = "VerticalPodAutoscaler"
			g.Expect(build(t, scaling).has(kind, "calico-kube-controllers")).To(BeFalse())
			g.Expect(build(t, "{backend: none, "+scaling+"}", withVPA).has(kind, "calico-kube-controllers")).To(BeFalse())
		})
	}
}

func TestHelpersThatVPALeavesAloneAreNamedAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	_, containers := podAutoscaler(build(t, "autoScaling: {mode: vpa}", withVPA), "calico-node")
	helpers := map[string]bool{}
	for _, config := range []string{"birdExporter: {enabled: true}", "overlay: {enabled: false}"} {
		for _, name := range names(build(t, config).node().Spec.Template.Spec.Containers) {
			helpers[name] = true
		}
	}
	g.Expect(slices.Sorted(maps.Keys(containers))).To(Equal(slices.Sorted(maps.Keys(helpers))))
}

func TestModeVPAWithoutVPAIsClusterProportionalAndSaysSo(t *testing.T) {
	g := NewWithT(t)
	n := build(t, stated)
	g.Expect(n.Warned("autoScaling.mode")).To(ConsistOf(
		"vpa is not in force, cluster-proportional is: the Shoot has no vertical pod autoscaler"))
	g.Expect(n.Warned("autoScaling.resources.node.cpu")).To(ConsistOf("300m has no effect: only modes static and vpa look at it"))
	g.Expect(n.Warned("autoScaling.resources.typha.memory")).To(HaveLen(1))
	want, got := build(t, ""), n
	g.Expect(got.Objects.For(plugin.Shoot)).To(Equal(want.Objects.For(plugin.Shoot)))
	g.Expect(build(t, stated, withVPA).Warnings).To(BeEmpty())
}

func TestResourcesOfATyphaThatIsNotThereAreWarnedAbout(t *testing.T) {
	for _, mode := range []string{"vpa", "static"} {
		t.Run(mode, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, "{typha: {enabled: false}, autoScaling: {mode: "+mode+", resources: {node: {cpu: 300m}, typha: {memory: 1Gi}}}}", withVPA)
			g.Expect(n.Warnings).To(HaveLen(1))
			g.Expect(n.Warned("autoScaling.resources.typha.memory")).To(ConsistOf("1Gi has no effect: typha.enabled is false"))
			g.Expect(build(t, "{typha: {enabled: false}, autoScaling: {mode: "+mode+"}}", withVPA).Warnings).To(BeEmpty())
		})
	}
}
