// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trellis-network/trellis/plugin"
)

const (
	withMultus        = "multus: {enabled: true}"
	withMultusPlugins = "multus: {enabled: true, installCNIPlugins: true}"
)

func TestMultusIsThereIfAskedFor(t *testing.T) {
	objects := map[string][]string{
		"DaemonSet":                {"multus"},
		"ServiceAccount":           {"multus"},
		"ClusterRole":              {"multus"},
		"ClusterRoleBinding":       {"multus"},
		"CustomResourceDefinition": {"network-attachment-definitions.k8s.cni.cncf.io"},
	}
	for _, test := range []struct {
		config string
		want   bool
	}{
		{"", false}, {"multus: {}", false}, {"multus: {installCNIPlugins: true}", false},
		{withMultus, true}, {withMultusPlugins, true},
	} {
		t.Run(test.config, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config)
			for kind, names := range objects {
				for _, name := range names {
					g.Expect(n.has(kind, name)).To(Equal(test.want), "%s %s", kind, name)
				}
			}
			component := plugin.Component{Name: "multus", Kind: "DaemonSet", Workload: "multus", Namespace: "kube-system"}
			g.Expect(n.Objects.Components).To(WithTransform(func(all []plugin.Component) bool {
				for _, one := range all {
					if one == component {
						return true
					}
				}
				return false
			}, Equal(test.want)))
		})
	}
}

func TestMultusComesBeforeOtherPodsOnEveryNode(t *testing.T) {
	g := NewWithT(t)
	multus := need[*appsv1.DaemonSet](build(t, withMultus), "multus")
	own := map[string]string{
		"k8s-app": "multus", "gardener.cloud/role": "system-component", "node.gardener.cloud/critical-component": "true",
	}
	g.Expect(multus.Labels).To(Equal(own))
	g.Expect(multus.Spec.Selector.MatchLabels).To(Equal(map[string]string{"k8s-app": "multus"}))
	g.Expect(multus.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(2))
	own["networking.gardener.cloud/to-apiserver"], own["networking.gardener.cloud/to-dns"] = "allowed", "allowed"
	g.Expect(multus.Spec.Template.Labels).To(Equal(own))

	pod := multus.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.ServiceAccountName).To(Equal("multus"))
	g.Expect(pod.PriorityClassName).To(Equal("system-node-critical"))
	g.Expect(*pod.TerminationGracePeriodSeconds).To(BeZero())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(pod.Tolerations).To(ConsistOf(
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}))
	g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	g.Expect(pod.Volumes).To(ConsistOf(
		corev1.Volume{Name: "cni", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/cni/net.d"}}},
		corev1.Volume{Name: "cnibin", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/opt/cni/bin"}}}))
}

func TestContainersOfMultus(t *testing.T) {
	bin := corev1.VolumeMount{Name: "cnibin", MountPath: "/host/opt/cni/bin"}
	for _, test := range []struct {
		config    string
		wantInits []string
	}{
		{withMultus, []string{"install-multus-cni"}},
		{withMultusPlugins, []string{"install-multus-cni", "install-cni-plugins"}},
	} {
		t.Run(test.config, func(t *testing.T) {
			g := NewWithT(t)
			pod := need[*appsv1.DaemonSet](build(t, test.config), "multus").Spec.Template.Spec
			g.Expect(names(pod.InitContainers)).To(Equal(test.wantInits))
			for _, init := range pod.InitContainers {
				g.Expect(*init.SecurityContext.Privileged).To(BeTrue(), init.Name)
				g.Expect(init.VolumeMounts).To(ConsistOf(bin), init.Name)
				g.Expect(requested(init)).To(Equal("10m/15Mi"), init.Name)
			}
			g.Expect(pod.InitContainers[0].Command).To(Equal([]string{"/install_multus"}))
			g.Expect(pod.InitContainers[0].Args).To(Equal([]string{"--type", "thin"}))

			g.Expect(names(pod.Containers)).To(Equal([]string{"multus"}))
			multus := pod.Containers[0]
			g.Expect(*multus.SecurityContext.Privileged).To(BeTrue())
			g.Expect(requested(multus)).To(Equal("100m/200Mi"))
			g.Expect(envOf(t, multus)).To(Equal(map[string]string{"MULTUS_NODE_NAME": "field spec.nodeName"}))
			g.Expect(multus.VolumeMounts).To(ConsistOf(bin, corev1.VolumeMount{Name: "cni", MountPath: "/host/etc/cni/net.d"}))
			g.Expect(multus.Command).To(Equal([]string{"/thin_entrypoint"}))
			g.Expect(multus.Args).To(ConsistOf(
				"--cleanup-config-on-exit",
				"--cni-bin-dir=/host/opt/cni/bin", "--cni-conf-dir=/host/etc/cni/net.d", "--cni-version=0.3.1",
				"--multus-autoconfig-dir=/host/etc/cni/net.d", "--multus-cni-conf-dir=/etc/cni/multus/net.d",
				"--multus-conf-file=auto", "--multus-log-file=/var/log/multus.log", "--multus-log-level=error",
				"--multus-log-to-stderr=true", "--multus-master-cni-file-name=10-calico.conflist",
				"--readiness-indicator-file=/etc/cni/net.d/10-calico.conflist"))
		})
	}
}

func TestMultusWaitsForCalicosConfiguration(t *testing.T) {
	g := NewWithT(t)
	n := build(t, withMultus)
	file := n.env("install-cni")["CNI_CONF_NAME"]
	args := need[*appsv1.DaemonSet](n, "multus").Spec.Template.Spec.Containers[0].Args
	g.Expect(args).To(ContainElements("--multus-master-cni-file-name="+file, "--readiness-indicator-file=/etc/cni/net.d/"+file))
}

func TestMultusMayReadPodsAndWriteTheirStatus(t *testing.T) {
	g := NewWithT(t)
	g.Expect(need[*rbacv1.ClusterRole](build(t, withMultus), "multus").Rules).To(Equal([]rbacv1.PolicyRule{
		{APIGroups: []string{"k8s.cni.cncf.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "pods/status"}, Verbs: []string{"get", "list", "update", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
	}))
}

func TestFurtherNetworksAreDescribedInAKindOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	crd := need[*apiextensionsv1.CustomResourceDefinition](build(t, withMultus), "network-attachment-definitions.k8s.cni.cncf.io")
	g.Expect(crd.Spec.Group).To(Equal("k8s.cni.cncf.io"))
	g.Expect(crd.Spec.Scope).To(Equal(apiextensionsv1.NamespaceScoped))
	g.Expect(crd.Spec.Names).To(Equal(apiextensionsv1.CustomResourceDefinitionNames{
		Kind: "NetworkAttachmentDefinition", ListKind: "NetworkAttachmentDefinitionList",
		Plural: "network-attachment-definitions", Singular: "network-attachment-definition", ShortNames: []string{"net-attach-def"},
	}))
	g.Expect(crd.Spec.Versions).To(HaveLen(1))
	g.Expect(crd.Spec.Versions[0].Name).To(Equal("v1"))
	g.Expect(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["config"].Type).To(Equal("string"))
}

func TestCalicosOwnPluginsAreLeftAlone(t *testing.T) {
	g := NewWithT(t)
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"bridge", "macvlan", "host-local", "portmap", "loopback", "tuning"} {
		g.Expect(os.WriteFile(filepath.Join(from, name), []byte("new "+name), 0o755)).To(Succeed())
	}
	for _, name := range []string{"portmap", "macvlan"} {
		g.Expect(os.WriteFile(filepath.Join(to, name), []byte("old "+name), 0o755)).To(Succeed())
	}
	command := need[*appsv1.DaemonSet](build(t, withMultusPlugins), "multus").Spec.Template.Spec.InitContainers[1].Command
	script := exec.Command(command[0], command[1:]...)
	script.Env = []string{"PATH=" + os.Getenv("PATH"), "PLUGINS=" + from, "TARGET=" + to}
	output, err := script.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))

	got := map[string]string{}
	entries, err := os.ReadDir(to)
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(to, entry.Name()))
		g.Expect(err).NotTo(HaveOccurred())
		got[entry.Name()] = string(content)
		info, err := entry.Info()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()&0o100).NotTo(BeZero(), entry.Name())
	}
	g.Expect(got).To(Equal(map[string]string{"bridge": "new bridge", "macvlan": "new macvlan", "portmap": "old portmap"}))
}
