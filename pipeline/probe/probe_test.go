// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/manifest"
)

func input(version string) *plugin.Input {
	in := &plugin.Input{Environment: plugin.Environment{Probe: &plugin.Probe{}}}
	in.KubernetesVersion, in.MaxUnavailable = version, 7
	return in
}

// Without the node in a pod's token, a probe could report in the name of any node.
func TestThereIsNoProbeWhereReportsCannotBeBoundToNodes(t *testing.T) {
	g := NewWithT(t)
	for version, wanted := range map[string]bool{"1.29.15": false, "1.30.0": true, "1.37.1": true, "": true} {
		_, has := probe.Bundle(input(version))
		g.Expect(has).To(Equal(wanted), version)
	}
	in := input("1.37.1")
	in.Probe = nil
	_, has := probe.Bundle(in)
	g.Expect(has).To(BeFalse(), "disabled")
}

func TestNoNetworkWaitsForItsProbe(t *testing.T) {
	g := NewWithT(t)
	bundle, _ := probe.Bundle(input("1.37.1"))
	g.Expect(bundle.Await).To(BeFalse())
	g.Expect(bundle.KeepOnMigrate).To(BeTrue())
	g.Expect(manifest.Workload[*appsv1.DaemonSet](bundle.Objects).Annotations).
		To(HaveKeyWithValue("resources.gardener.cloud/skip-health-check", "true"))
}

// A pod whose network has gone first cannot end, and with it the deletion of the Network.
func TestTheProbeGoesBeforeTheNetwork(t *testing.T) {
	bundle, _ := probe.Bundle(input("1.37.1"))
	NewWithT(t).Expect(bundle.Phase).To(BeNumerically(">", plugin.NetworkBundle("any", nil).Phase))
}

// The probe must see what any pod sees, and must be able to do no more than that.
func TestAProbeIsAPodLikeAnyOther(t *testing.T) {
	g := NewWithT(t)
	bundle, _ := probe.Bundle(input("1.37.1"))
	daemonSet := manifest.Workload[*appsv1.DaemonSet](bundle.Objects)
	pod := daemonSet.Spec.Template.Spec
	g.Expect(pod.HostNetwork || pod.HostPID || pod.HostIPC).To(BeFalse())
	g.Expect(pod.Volumes).To(BeEmpty())
	g.Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue())
	g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	own := pod.Containers[0].SecurityContext
	g.Expect(*own.ReadOnlyRootFilesystem).To(BeTrue())
	g.Expect(*own.AllowPrivilegeEscalation || *own.Privileged).To(BeFalse())
	g.Expect(own.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
	g.Expect(daemonSet.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(7))
}

func TestTheProbesImageIsReplacedLikeOthers(t *testing.T) {
	g := NewWithT(t)
	in := input("1.37.1")
	in.Images = map[string]string{"trellis-probe": "mirror.example.com/probe:v9"}
	bundle, _ := probe.Bundle(in)
	g.Expect(manifest.Workload[*appsv1.DaemonSet](bundle.Objects).Spec.Template.Spec.Containers[0].Image).To(Equal("mirror.example.com/probe:v9"))
}

func TestThePolicyAllowsWhatTheProbeTests(t *testing.T) {
	g := NewWithT(t)
	in := input("1.37.1")
	in.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "8443"}
	in.Probe.OutsideTarget = "example.com:443"
	bundle, _ := probe.Bundle(in)
	policy := manifest.Workload[*networkingv1.NetworkPolicy](bundle.Objects)
	var ports []int
	for _, port := range policy.Spec.Egress[1].Ports {
		ports = append(ports, port.Port.IntValue())
	}
	g.Expect(ports).To(Equal([]int{53, 53, 8053, 8053, 10250, 443, 6443, 8443}))
	g.Expect(policy.Spec.Ingress).To(HaveLen(1), "from probes alone")
	g.Expect(policy.Spec.Ingress[0].From).To(Equal(policy.Spec.Egress[0].To))
	g.Expect(manifest.Workload[*appsv1.DaemonSet](bundle.Objects).Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"--outside=example.com:443"}))
}
