// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

func nonPrivileged(facts *plugin.Input) {
	facts.FeatureGates = map[string]bool{"NonPrivilegedCalicoNode": true}
}

func TestCalicoNodeIsPrivilegedByDefault(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	g.Expect(*n.container("calico-node").SecurityContext.Privileged).To(BeTrue())
	g.Expect(names(n.node().Spec.Template.Spec.InitContainers)).To(Equal([]string{"log-mtu-issues", "install-cni"}))
}

func TestGateTakesPrivilegesAway(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "{overlay: {enabled: false}, birdExporter: {enabled: true}}", nonPrivileged)
	g.Expect(n.container("calico-node").SecurityContext).To(Equal(&corev1.SecurityContext{
		RunAsUser: new(int64(999)), RunAsGroup: new(int64(0)), Privileged: new(false), AllowPrivilegeEscalation: new(true),
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_RAW", "NET_ADMIN", "NET_BIND_SERVICE"}},
	}))
	g.Expect(n.container("add-snat-rule-to-upstream-dns").SecurityContext.Capabilities.Add).To(ConsistOf(corev1.Capability("NET_ADMIN")))
	g.Expect(names(n.node().Spec.Template.Spec.InitContainers)).To(Equal(
		[]string{"cleanup-routes", "log-mtu-issues", "install-cni", "hostpath-init"}))
	g.Expect(n.env("hostpath-init")).To(HaveKeyWithValue("NODE_USER_ID", "999"))
	g.Expect(names(n.node().Spec.Template.Spec.Containers)).NotTo(ContainElement("bird-exporter"))
	g.Expect(n.has("Service", "calico-bird-monitoring")).To(BeTrue())
	g.Expect(n.Warned("birdExporter.enabled")).To(HaveLen(1))
}

// Without privileges of its own, calico-node needs those that set-uid bits in its image give.
func TestUsersLearnWhatIsKnownAgainstFewRights(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "", nonPrivileged).Warnings).To(ConsistOf(And(
		HaveField("Field", "featureGates.NonPrivilegedCalicoNode"), HaveField("Message", ContainSubstring("Calico no longer supports")))))
	g.Expect(build(t, "ebpfDataplane: {enabled: true}", nonPrivileged).Warnings).NotTo(ContainElement(
		HaveField("Field", HavePrefix("featureGates"))), "it is privileged")
	g.Expect(build(t, "").Warnings).To(BeEmpty())
}

func TestEBPFNeedsPrivilegesWhateverTheGateSays(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "ebpfDataplane: {enabled: true}", nonPrivileged)
	g.Expect(*n.container("calico-node").SecurityContext.Privileged).To(BeTrue())
	g.Expect(names(n.node().Spec.Template.Spec.InitContainers)).To(Equal([]string{"log-mtu-issues", "install-cni", "ebpf-bootstrap"}))
}

// The exporter is a container of a privileged calico-node only.
func TestAnExporterThatCannotRunRestartsNothing(t *testing.T) {
	g := NewWithT(t)
	const exporter = "birdExporter: {enabled: true}"
	g.Expect(changed(t, "", exporter, nonPrivileged).Classes()).To(HaveKeyWithValue("birdExporter.enabled", plugin.Safe))
	g.Expect(changed(t, exporter, "", nonPrivileged).Classes()).To(HaveKeyWithValue("birdExporter.enabled", plugin.Safe))
	g.Expect(changed(t, "", exporter).Classes()).To(HaveKeyWithValue("birdExporter.enabled", plugin.Rolling))
}
