// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

const reachesAll = " networking.gardener.cloud/to-apiserver=allowed networking.gardener.cloud/to-dns=allowed networking.gardener.cloud/to-public-networks=allowed"

func TestCalicoNodeRunsOnEveryNode(t *testing.T) {
	g := NewWithT(t)
	node := build(t, "").node()
	const labels = "gardener.cloud/role=system-component k8s-app=calico-node"
	g.Expect(pairs(node.Labels)).To(Equal(labels + " node.gardener.cloud/critical-component=true"))
	g.Expect(pairs(node.Spec.Template.Labels)).To(Equal(labels + reachesAll + " node.gardener.cloud/critical-component=true"))
	g.Expect(pairs(node.Spec.Selector.MatchLabels)).To(Equal("k8s-app=calico-node"))
	g.Expect(node.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(2))
	g.Expect(*node.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	pod := node.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(pod.NodeSelector).To(Equal(map[string]string{"kubernetes.io/os": "linux"}))
	g.Expect(tolerations(pod)).To(Equal("NoSchedule NoExecute"))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName).To(Equal("calico-node system-node-critical"))
	g.Expect(*pod.TerminationGracePeriodSeconds).To(BeZero())
	g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
}

func TestCalicoNodeIsProbedForWhatItRuns(t *testing.T) {
	for config, bird := range map[string]bool{"": true, "overlay: {enabled: false}": false, "backend: vxlan": false} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, config).container("calico-node")
			live, ready := "exec /bin/calico-node -felix-live", "exec /bin/calico-node -felix-ready"
			if bird {
				live, ready = live+" -bird-live", ready+" -bird-ready"
			}
			g.Expect(probe(container.LivenessProbe)).To(Equal(live + ", delay 10, period 10, timeout 10, failures 6"))
			g.Expect(probe(container.ReadinessProbe)).To(Equal(ready + ", delay 0, period 10, timeout 10, failures 0"))
			g.Expect(container.Lifecycle.PreStop.Exec.Command).To(Equal([]string{"/bin/calico-node", "-shutdown"}))
			g.Expect(ports(container)).To(Equal("metrics:9091/TCP"))
			g.Expect(container.Resources.Limits).To(BeEmpty())
			g.Expect(container.EnvFrom[0].ConfigMapRef.Name).To(Equal("kubernetes-services-endpoint"))
			g.Expect(*container.EnvFrom[0].ConfigMapRef.Optional).To(BeTrue())
		})
	}
}

func TestFoldersOfTheNode(t *testing.T) {
	const (
		common = "lib-modules=/lib/modules cni-bin-dir=/opt/cni/bin:DirectoryOrCreate cni-net-dir=/etc/cni/net.d " +
			"cni-log-dir=/var/log/calico/cni policysync=/var/run/nodeagent:DirectoryOrCreate xtables-lock=/run/xtables.lock:FileOrCreate "
		private = "var-run-calico=/var/run/calico:DirectoryOrCreate var-lib-calico=/var/lib/calico:DirectoryOrCreate "
		mounts  = "cni-net-dir:/host/etc/cni/net.d lib-modules:/lib/modules:ro xtables-lock:/run/xtables.lock policysync:/var/run/nodeagent " +
			"cni-log-dir:/var/log/calico/cni:ro "
		privateMounts = "var-run-calico:/var/run/calico var-lib-calico:/var/lib/calico "
	)
	for _, test := range []struct {
		name, config    string
		options         []option
		volumes, mounts string
	}{
		{name: "privileged", volumes: common + private, mounts: mounts + privateMounts},
		{name: "eBPF", config: "ebpfDataplane: {enabled: true}",
			volumes: common + private + "sys-fs=/sys/fs/:DirectoryOrCreate bpffs=/sys/fs/bpf:Directory nodeproc=/proc",
			mounts:  mounts + privateMounts + "bpffs:/sys/fs/bpf"},
		{name: "few rights", options: []option{nonPrivileged},
			volumes: common + "var-run=/var/run var-lib=/var/lib var-log=/var/log",
			mounts:  mounts + "var-run:/var/run var-lib:/var/lib var-log:/var/log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, test.config, test.options...)
			g.Expect(volumesOf(n.node().Spec.Template.Spec)).To(ConsistOf(strings.Fields(test.volumes)))
			g.Expect(mountsOf(n.container("calico-node"))).To(ConsistOf(strings.Fields(test.mounts)))
		})
	}
}

func TestHelpersOfCalicoNode(t *testing.T) {
	for _, test := range []struct {
		name, config, container string
		options                 []option
		command, mounts, access string
	}{
		{name: "cleanup-routes", config: "overlay: {enabled: false}", access: "privileged"},
		{name: "log-mtu-issues", access: "privileged"},
		{name: "install-cni", command: "/opt/cni/bin/install", access: "privileged",
			mounts: "cni-net-dir:/host/etc/cni/net.d cni-bin-dir:/host/secondary-bin-dir"},
		{name: "ebpf-bootstrap", config: "ebpfDataplane: {enabled: true}", command: "calico-node -init -best-effort", access: "privileged",
			mounts: "sys-fs:/sys/fs:Bidirectional var-run-calico:/var/run/calico:Bidirectional nodeproc:/nodeproc:ro"},
		{name: "hostpath-init", options: []option{nonPrivileged}, access: "user 0 no escalation", mounts: "var-run:/var/run var-lib:/var/lib var-log:/var/log"},
		{name: "add-snat-rule-to-upstream-dns", config: "overlay: {enabled: false}", access: "privileged", mounts: "xtables-lock:/run/xtables.lock"},
		{name: "add-snat-rule-to-upstream-dns", config: "overlay: {enabled: false}", options: []option{nonPrivileged},
			access: "not privileged no escalation +NET_ADMIN", mounts: "xtables-lock:/run/xtables.lock"},
		{name: "network-unavailable-condition-ensurer", access: "not privileged no escalation"},
		{name: "network-unavailable-condition-ensurer", config: "backend: none", options: []option{standalone}, access: "not privileged no escalation",
			mounts: "var-lib-calico:/var/lib/calico kube-api-access-trellis:/var/run/secrets/kubernetes.io/serviceaccount:ro"},
		{name: "network-unavailable-condition-ensurer", config: "backend: none", options: []option{standalone, nonPrivileged}, access: "not privileged no escalation",
			mounts: "var-lib:/var/lib/calico<calico kube-api-access-trellis:/var/run/secrets/kubernetes.io/serviceaccount:ro"},
		{name: "bird-exporter", config: "birdExporter: {enabled: true}", mounts: "var-run-calico:/var/run/calico:ro"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			container := build(t, test.config, test.options...).container(test.name)
			g.Expect(mountsOf(container)).To(ConsistOf(strings.Fields(test.mounts)))
			g.Expect(access(container.SecurityContext)).To(Equal(test.access))
			if test.command != "" {
				g.Expect(strings.Join(container.Command, " ")).To(Equal(test.command))
			}
		})
	}
}

func TestCNIInstallerKnowsTheNode(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	g.Expect(n.env("install-cni")).To(Equal(map[string]string{
		"CNI_CONF_NAME": "10-calico.conflist", "CNI_NETWORK_CONFIG": "key calico-config/cni_network_config", "KUBERNETES_NODE_NAME": "field spec.nodeName",
		"CNI_MTU": "key calico-config/veth_mtu", "SLEEP": "false",
	}))
	g.Expect(n.container("install-cni").EnvFrom).To(Equal(n.container("calico-node").EnvFrom))
}

func TestBirdExporterAsksForLittle(t *testing.T) {
	g := NewWithT(t)
	container := build(t, "birdExporter: {enabled: true}").container("bird-exporter")
	g.Expect(requested(container)).To(Equal("10m/32Mi"))
	g.Expect(ports(container)).To(Equal("bird-metrics:9094/TCP"))
}

func TestTypha(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	typha := need[*appsv1.Deployment](n, "calico-typha-deploy")
	const labels = "gardener.cloud/role=system-component k8s-app=calico-typha"
	g.Expect(pairs(typha.Labels)).To(Equal(labels))
	g.Expect(pairs(typha.Spec.Template.Labels)).To(Equal(labels + reachesAll + " origin=gardener"))
	g.Expect(pairs(typha.Spec.Template.Annotations)).To(Equal("cluster-autoscaler.kubernetes.io/safe-to-evict=true"))
	g.Expect(typha.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(1))
	g.Expect(*typha.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	pod := typha.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	g.Expect(tolerations(pod)).To(Equal("NoSchedule NoExecute"))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName).To(Equal("calico-typha system-cluster-critical"))
	g.Expect(*pod.SecurityContext).To(Equal(corev1.PodSecurityContext{
		RunAsUser: new(int64(65534)), FSGroup: new(int64(65534)), SupplementalGroups: []int64{1},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}))
	container := typhaContainer(n)
	g.Expect(ports(container)).To(Equal("calico-typha:5473/TCP metrics:9093/TCP"))
	g.Expect(*container.SecurityContext).To(Equal(corev1.SecurityContext{RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false)}))
	g.Expect(probe(container.LivenessProbe)).To(Equal("GET localhost:9098/liveness, delay 30, period 30, timeout 10, failures 0"))
	g.Expect(probe(container.ReadinessProbe)).To(Equal("GET localhost:9098/readiness, delay 0, period 10, timeout 10, failures 0"))
	g.Expect(envOf(t, container)).To(Equal(map[string]string{
		"USE_POD_CIDR": "true", "TYPHA_PROMETHEUSMETRICSENABLED": "true", "TYPHA_PROMETHEUSMETRICSPORT": "9093", "TYPHA_LOGSEVERITYSCREEN": "info",
		"TYPHA_LOGFILEPATH": "none", "TYPHA_LOGSEVERITYSYS": "none", "TYPHA_CONNECTIONREBALANCINGMODE": "kubernetes",
		"TYPHA_DATASTORETYPE": "kubernetes", "TYPHA_HEALTHENABLED": "true", "TYPHA_SHUTDOWNTIMEOUTSECS": "300",
	}))
	service := need[*corev1.Service](n, "calico-typha")
	g.Expect(pairs(service.Labels) + " " + pairs(service.Spec.Selector)).To(Equal("k8s-app=calico-typha k8s-app=calico-typha"))
	g.Expect(service.Spec.Ports).To(HaveLen(1))
	g.Expect(fmt.Sprint(service.Spec.Ports[0].Name, service.Spec.Ports[0].Port, service.Spec.Ports[0].TargetPort.String())).To(Equal("calico-typha5473calico-typha"))
	policy := need[*networkingv1.NetworkPolicy](n, "gardener.cloud--allow-from-calico-node")
	g.Expect(pairs(policy.Labels)).To(Equal("origin=gardener"))
	g.Expect(policy.Annotations).To(HaveKeyWithValue("gardener.cloud/description", Not(BeEmpty())))
	g.Expect(policy.Spec.Ingress[0].Ports[0].Port.IntValue()).To(Equal(5473))
	g.Expect(pairs(policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels)).To(Equal("k8s-app=calico-node"))
}

func TestKubeControllers(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	controllers := need[*appsv1.Deployment](n, "calico-kube-controllers")
	const labels = "gardener.cloud/role=system-component k8s-app=calico-kube-controllers"
	g.Expect(pairs(controllers.Labels)).To(Equal(labels))
	g.Expect(pairs(controllers.Spec.Template.Labels)).To(Equal(labels + reachesAll + " origin=gardener"))
	g.Expect(*controllers.Spec.Replicas).To(Equal(int32(1)))
	g.Expect(*controllers.Spec.RevisionHistoryLimit).To(Equal(int32(2)))
	g.Expect(controllers.Spec.Strategy.Type).To(Equal(appsv1.RecreateDeploymentStrategyType))
	pod := controllers.Spec.Template.Spec
	g.Expect(tolerations(pod)).To(Equal("NoSchedule"))
	g.Expect(pod.ServiceAccountName + " " + pod.PriorityClassName + " " + string(pod.DNSPolicy)).To(
		Equal("calico-kube-controllers system-cluster-critical Default"))
	g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	container := pod.Containers[0]
	g.Expect(envOf(t, container)).To(Equal(map[string]string{"ENABLED_CONTROLLERS": "node,loadbalancer", "DATASTORE_TYPE": "kubernetes"}))
	g.Expect(requested(container)).To(Equal("10m/50Mi"))
	g.Expect(probe(container.LivenessProbe)).To(Equal("exec /usr/bin/check-status -l, delay 10, period 10, timeout 10, failures 6"))
	g.Expect(probe(container.ReadinessProbe)).To(Equal("exec /usr/bin/check-status -r, delay 0, period 10, timeout 10, failures 0"))
	g.Expect(*container.SecurityContext).To(Equal(corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(false), RunAsNonRoot: new(true)}))
}

func TestDrainingDoesNotHang(t *testing.T) {
	for _, name := range []string{"calico-typha", "calico-kube-controllers"} {
		g := NewWithT(t)
		budget := need[*policyv1.PodDisruptionBudget](build(t, ""), name)
		g.Expect(pairs(budget.Labels) + " " + pairs(budget.Spec.Selector.MatchLabels)).To(Equal("k8s-app=" + name + " k8s-app=" + name))
		g.Expect(budget.Spec.MaxUnavailable.IntValue()).To(Equal(1))
		g.Expect(*budget.Spec.UnhealthyPodEvictionPolicy).To(Equal(policyv1.AlwaysAllow))
	}
}

func tolerations(pod corev1.PodSpec) string {
	var effects []string
	for _, each := range pod.Tolerations {
		if each.Operator == corev1.TolerationOpExists && each.Key == "" {
			effects = append(effects, string(each.Effect))
		}
	}
	return strings.Join(effects, " ")
}
