// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	reachesAll  = " networking.gardener.cloud/to-apiserver=allowed networking.gardener.cloud/to-dns=allowed networking.gardener.cloud/to-public-networks=allowed"
	agentLabels = "app.kubernetes.io/name=cilium-agent app.kubernetes.io/part-of=cilium"
	onEveryNode = " node.gardener.cloud/critical-component=true"
)

func TestTheAgentRunsOnEveryNode(t *testing.T) {
	g := NewWithT(t)
	agent := build(t, "").agent()
	g.Expect(pairs(agent.Labels)).To(Equal(agentLabels + " gardener.cloud/role=system-component k8s-app=cilium" + onEveryNode))
	g.Expect(pairs(agent.Spec.Template.Labels)).To(Equal(agentLabels + " k8s-app=cilium" + reachesAll + onEveryNode))
	g.Expect(pairs(agent.Spec.Selector.MatchLabels)).To(Equal("k8s-app=cilium"))
	g.Expect(*agent.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable).To(Equal(intstr.FromInt32(2)))
	g.Expect(*agent.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	pod := agent.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(tolerations(pod)).To(Equal([]string{" Exists"}))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName + " " + string(pod.RestartPolicy)).To(Equal("cilium system-node-critical Always"))
	g.Expect(*pod.TerminationGracePeriodSeconds).To(Equal(int64(1)))
	g.Expect(*pod.SecurityContext).To(Equal(sharedGroup))
	g.Expect(*pod.Affinity).To(Equal(corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: beside("k8s-app", "cilium"),
	}}))
}

func tolerations(pod corev1.PodSpec) []string {
	var list []string
	for _, each := range pod.Tolerations {
		list = append(list, fmt.Sprintf("%s%s %s", each.Key, each.Effect, each.Operator))
	}
	return list
}

var sharedGroup = corev1.PodSecurityContext{
	FSGroup: new(int64(1)), SupplementalGroups: []int64{1},
	SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
}

func beside(label, value string) []corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname"}
	term.LabelSelector = selecting(label, value)
	return []corev1.PodAffinityTerm{term}
}

func TestAnnotationsOfTheAgentsPods(t *testing.T) {
	g := NewWithT(t)
	annotations := build(t, "").agent().Spec.Template.Annotations
	for _, checksum := range []string{"checksum/configmap-cilium", "checksum/configmap-label-prefix"} {
		g.Expect(annotations).To(HaveKeyWithValue(checksum, MatchRegexp("^[0-9a-f]{64}$")))
		delete(annotations, checksum)
	}
	const appArmor = "container.apparmor.security.beta.kubernetes.io/"
	g.Expect(annotations).To(Equal(map[string]string{
		"prometheus.io/port": "9090", "prometheus.io/scrape": "true", "kubectl.kubernetes.io/default-container": "cilium-agent",
		appArmor + "cilium-agent": "unconfined", appArmor + "clean-cilium-state": "unconfined",
		appArmor + "mount-cgroup": "unconfined", appArmor + "apply-sysctl-overwrites": "unconfined",
	}))
}

func TestPodsRestartWhenTheirConfigurationChanges(t *testing.T) {
	g := NewWithT(t)
	const key = "checksum/configmap-cilium"
	first, same, other := build(t, ""), build(t, "{}"), build(t, "debug: true")
	sum := first.agent().Spec.Template.Annotations[key]
	g.Expect(first.operator().Spec.Template.Annotations[key]).To(Equal(sum))
	g.Expect(same.agent().Spec.Template.Annotations[key]).To(Equal(sum))
	g.Expect(other.agent().Spec.Template.Annotations[key]).NotTo(Equal(sum))
	g.Expect(other.operator().Spec.Template.Annotations[key]).NotTo(Equal(sum))
	const prefixes = "checksum/configmap-label-prefix"
	g.Expect(other.agent().Spec.Template.Annotations[prefixes]).To(Equal(first.agent().Spec.Template.Annotations[prefixes]))
}

// loopbacks are where probes reach what shares its node's network.
var loopbacks = map[string]struct {
	families option
	address  string
}{
	"IPv4":       {nil, "127.0.0.1"},
	"dual-stack": {dualStack, "127.0.0.1"},
	"IPv6":       {ipv6Only, "::1"},
}

func TestTheAgentsContainer(t *testing.T) {
	for name, test := range loopbacks {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, "", test.families).container("cilium-agent")
			g.Expect(strings.Join(append(container.Command, container.Args...), " ")).To(Equal("cilium-agent --config-dir=/tmp/cilium/config-map"))
			g.Expect(container.ImagePullPolicy).To(Equal(corev1.PullIfNotPresent))
			g.Expect(requested(container.Resources.Requests)).To(Equal("200Mi"))
			g.Expect(container.Resources.Limits).To(BeEmpty())
			g.Expect(container.Lifecycle.PreStop.Exec.Command).To(Equal([]string{"/cni-uninstall.sh"}))
			g.Expect(container.TerminationMessagePolicy).To(Equal(corev1.TerminationMessageFallbackToLogsOnError))
			g.Expect(access(container.SecurityContext)).To(Equal("s0/spc_t -ALL +CHOWN +KILL +NET_ADMIN +NET_RAW +IPC_LOCK +SYS_MODULE " +
				"+SYS_ADMIN +SYS_RESOURCE +DAC_OVERRIDE +FOWNER +SETGID +SETUID"))
			g.Expect(envOf(t, container)).To(Equal(map[string]string{
				"K8S_NODE_NAME": "field spec.nodeName", "CILIUM_K8S_NAMESPACE": "field metadata.namespace",
				"CILIUM_CLUSTERMESH_CONFIG": "/var/lib/cilium/clustermesh/", "GOMEMLIMIT": "resource limits.memory/1",
				"KUBE_CLIENT_BACKOFF_BASE": "1", "KUBE_CLIENT_BACKOFF_DURATION": "120",
			}))
			g.Expect(portsOf(container)).To(Equal("prometheus:9090/TCP@9090 health:9879/TCP@9879 hubble-metrics:9091/TCP@9091 peer-service:4244/TCP@4244"))
			health := "GET " + test.address + ":9879/healthz brief=true"
			g.Expect(probe(container.StartupProbe)).To(Equal(health + ", delay 5, period 2, timeout 0, failures 300"))
			g.Expect(probe(container.LivenessProbe)).To(Equal(health + " require-k8s-connectivity=false, delay 0, period 30, timeout 5, failures 10"))
			g.Expect(probe(container.ReadinessProbe)).To(Equal(health + ", delay 5, period 30, timeout 5, failures 3"))
		})
	}
}

// Agents are told of the API server by Gardener's webhooks or by the pipeline.
func TestTheAgentIsNotToldOfTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "kubeproxy: {k8sServiceHost: 10.0.0.1, k8sServicePort: 6443}", withoutKubeProxy)
	g.Expect(envOf(t, n.container("cilium-agent"))).NotTo(HaveKey(HavePrefix("KUBERNETES_SERVICE")))
}

func TestFoldersOfTheAgent(t *testing.T) {
	g := NewWithT(t)
	pod := build(t, "").agent().Spec.Template.Spec
	g.Expect(mountsOf(pick(t, pod, "cilium-agent"))).To(ConsistOf(strings.Fields(`
		envoy-sockets:/var/run/cilium/envoy/sockets host-proc-sys-net:/host/proc/sys/net host-proc-sys-kernel:/host/proc/sys/kernel
		bpf-maps:/sys/fs/bpf:HostToContainer cilium-run:/var/run/cilium cilium-netns:/var/run/cilium/netns:HostToContainer
		etc-cni-netd:/host/etc/cni/net.d clustermesh-secrets:/var/lib/cilium/clustermesh:ro
		cilium-config-path:/tmp/cilium/config-map:ro label-prefix:/tmp/cilium/label-prefix:ro lib-modules:/lib/modules:ro
		xtables-lock:/run/xtables.lock hubble-tls:/var/lib/cilium/tls/hubble:ro`)))
	g.Expect(volumesOf(pod)).To(ConsistOf(strings.Fields(`
		tmp=emptyDir
		cilium-run=/var/run/cilium:DirectoryOrCreate cilium-netns=/var/run/netns:DirectoryOrCreate bpf-maps=/sys/fs/bpf:DirectoryOrCreate
		cilium-cgroup=/run/cilium/cgroupv2:DirectoryOrCreate cni-path=/opt/cni/bin:DirectoryOrCreate etc-cni-netd=/etc/cni/net.d:DirectoryOrCreate
		envoy-sockets=/var/run/cilium/envoy/sockets:DirectoryOrCreate
		hostproc=/proc:Directory host-etc=/etc:Directory host-proc-sys-net=/proc/sys/net:Directory host-proc-sys-kernel=/proc/sys/kernel:Directory
		lib-modules=/lib/modules xtables-lock=/run/xtables.lock:FileOrCreate
		cilium-config-path=ConfigMap/cilium-config label-prefix=ConfigMap/label-prefix-conf:0644
		clustermesh-secrets=Secret/cilium-clustermesh?` +
		`+Secret/clustermesh-apiserver-remote-cert?(tls.crt>common-etcd-client.crt,tls.key>common-etcd-client.key,ca.crt>common-etcd-client-ca.crt)` +
		`+Secret/clustermesh-apiserver-local-cert?(tls.crt>local-etcd-client.crt,tls.key>local-etcd-client.key,ca.crt>local-etcd-client-ca.crt):0400
		hubble-tls=Secret/hubble-server-certs?(tls.crt>server.crt,tls.key>server.key,ca.crt>client-ca.crt):0400`)))
}

// Options that change agents do it through the ConfigMap: pods only restart for it.
func TestOptionsLeaveTheAgentsPodsAlone(t *testing.T) {
	want := build(t, "").agent().Spec.Template.Spec
	for _, each := range stock {
		if len(each.sidecars) > 0 || len(each.inits) > 0 {
			continue
		}
		t.Run(each.name, func(t *testing.T) {
			got := each.build(t).agent().Spec.Template.Spec
			if got.Containers[0].StartupProbe.HTTPGet.Host == "::1" {
				for _, p := range []*corev1.Probe{got.Containers[0].StartupProbe, got.Containers[0].LivenessProbe, got.Containers[0].ReadinessProbe} {
					p.HTTPGet.Host = "127.0.0.1"
				}
			}
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

func TestHelpersOfTheAgent(t *testing.T) {
	const (
		spc  = "s0/spc_t"
		logs = string(corev1.TerminationMessageFallbackToLogsOnError)
		host = spc + " -ALL +SYS_ADMIN +SYS_CHROOT +SYS_PTRACE"
	)
	for _, test := range []struct {
		name, command, access, mounts, requests, messages string
		env                                               map[string]string
	}{
		{name: "disable-rp-filter", access: "no escalation " + spc + " -ALL", mounts: "host-etc:/host/etc"},
		{name: "config", command: "cilium-dbg build-config", access: "no escalation -ALL +NET_ADMIN", mounts: "tmp:/tmp", messages: logs,
			env: map[string]string{"K8S_NODE_NAME": "field spec.nodeName", "CILIUM_K8S_NAMESPACE": "field metadata.namespace"}},
		{name: "mount-cgroup", access: host, mounts: "hostproc:/hostproc cni-path:/hostbin", messages: logs,
			env: map[string]string{"CGROUP_ROOT": "/run/cilium/cgroupv2", "BIN_PATH": "/opt/cni/bin"}},
		{name: "apply-sysctl-overwrites", access: host, mounts: "hostproc:/hostproc cni-path:/hostbin", messages: logs,
			env: map[string]string{"BIN_PATH": "/opt/cni/bin"}},
		{name: "mount-bpf-fs", access: "privileged", mounts: "bpf-maps:/sys/fs/bpf:Bidirectional", messages: logs},
		{name: "clean-cilium-state", command: "/init-container.sh", requests: "100m/100Mi", messages: logs,
			access: spc + " -ALL +NET_ADMIN +SYS_MODULE +SYS_ADMIN +SYS_RESOURCE +SYSLOG",
			mounts: "bpf-maps:/sys/fs/bpf cilium-cgroup:/run/cilium/cgroupv2:HostToContainer cilium-run:/var/run/cilium",
			env: map[string]string{"CILIUM_ALL_STATE": "key cilium-config/clean-cilium-state", "CILIUM_BPF_STATE": "key cilium-config/clean-cilium-bpf-state",
				"WRITE_CNI_CONF_WHEN_READY": "key cilium-config/write-cni-conf-when-ready"}},
		{name: "install-cni-binaries", command: "/install-plugin.sh", access: "no escalation " + spc + " -ALL",
			mounts: "cni-path:/host/opt/cni/bin", requests: "100m/100Mi", messages: logs},
		{name: "cilium-kube-proxy-clean-up", access: "no escalation +NET_ADMIN"},
		{name: "add-snat-rule-to-upstream-dns", access: "no escalation +NET_ADMIN", requests: "10m/50Mi", env: map[string]string{"POD_CIDR": podCIDR}},
		{name: "add-snat-rule-to-outside-world", access: "no escalation +NET_ADMIN", requests: "10m/50Mi",
			env: map[string]string{"POD_CIDR": podCIDR, "NODE_CIDR": nodeCIDR}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, everywhere, everyFact...).container(test.name)
			g.Expect(container.Image).To(Equal("quay.io/cilium/cilium:v1.19.7"))
			g.Expect(container.ImagePullPolicy).To(Equal(corev1.PullIfNotPresent))
			g.Expect(access(container.SecurityContext)).To(Equal(test.access))
			g.Expect(mountsOf(container)).To(ConsistOf(strings.Fields(test.mounts)))
			g.Expect(requested(container.Resources.Requests)).To(Equal(test.requests))
			g.Expect(string(container.TerminationMessagePolicy)).To(Equal(test.messages))
			if test.env == nil {
				test.env = map[string]string{}
			}
			g.Expect(envOf(t, container)).To(Equal(test.env))
			if test.command != "" {
				g.Expect(strings.Join(container.Command, " ")).To(Equal(test.command))
			} else {
				g.Expect(container.Command).To(HaveExactElements("/bin/sh", "-c", HavePrefix("# ")))
			}
		})
	}
}
