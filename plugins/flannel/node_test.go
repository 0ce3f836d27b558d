// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
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
	g.Expect(mounts(daemon)).To(Equal("run:/run/flannel flannel-cfg:/etc/kube-flannel xtables-lock:/run/xtables.lock"))
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
		got = append(got, container.Name+": "+strings.Join(append(container.Command, container.Args...), " ")+" with "+mounts(container))
	}
	const bin = "/usr/src/cni/bin/"
	g.Expect(got).To(Equal([]string{
		"install-cni-plugins: cp -f " + bin + "bridge " + bin + "host-local " + bin + "loopback " + bin + "portmap /opt/cni/bin/ with cni-plugin:/opt/cni/bin",
		"install-cni-plugin: cp -f /flannel /opt/cni/bin/flannel with cni-plugin:/opt/cni/bin",
		"install-cni: cp -f /etc/kube-flannel/cni-conf.json /etc/cni/net.d/10-flannel.conflist with cni:/etc/cni/net.d flannel-cfg:/etc/kube-flannel",
	}))
}

func mounts(container corev1.Container) string {
	var list []string
	for _, mount := range container.VolumeMounts {
		list = append(list, mount.Name+":"+mount.MountPath)
	}
	return strings.Join(list, " ")
}

func TestRightsAreExactlyThese(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, rule := range need[*rbacv1.ClusterRole](build(t, ""), "flannel").Rules {
		got = append(got, strings.Join(rule.Resources, ",")+": "+strings.Join(rule.Verbs, ","))
	}
	g.Expect(got).To(Equal([]string{"pods: get", "nodes: get,list,watch", "nodes/status: patch"}))
}

// imageList returns the references of images.yaml, by name.
func imageList(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ Name, Repository, Tag string }
	raw, err := os.ReadFile("images.yaml")
	if err != nil || yaml.UnmarshalStrict(raw, &list) != nil {
		t.Fatal("images.yaml cannot be read")
	}
	references := map[string]string{}
	for _, image := range list {
		references[image.Name] = image.Repository + ":" + image.Tag
	}
	return references
}

func TestEveryImageRunsSomewhereAndCanBeReplaced(t *testing.T) {
	g := NewWithT(t)
	for name, reference := range imageList(t) {
		const mirror = "mirror.example.com/image:v0"
		own := documents(t, build(t, ""))
		replaced := documents(t, build(t, "", func(f *plugin.Facts) { f.Images = map[string]string{name: mirror} }))
		g.Expect(own).To(ContainSubstring(`"image":"`+reference+`"`), name)
		g.Expect(replaced).To(ContainSubstring(`"image":"`+mirror+`"`), name)
		g.Expect(replaced).NotTo(ContainSubstring(`"image":"`+reference+`"`), name)
	}
}

func documents(t *testing.T, n *network) string {
	t.Helper()
	raw, err := pipeline.Documents(n.Objects.Shoot)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestREADMEHasExactlyTheImagesThatThereAre(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, table, _ := strings.Cut(string(raw), "\n## Images\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		documented[row[1]] = row[2]
	}
	g.Expect(documented).To(Equal(imageList(t)))
}
