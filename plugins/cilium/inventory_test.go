// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/built"
)

// What every network consists of, and what some have besides.
var (
	always = []string{
		"ConfigMap cilium-config", "ConfigMap label-prefix-conf", "ConfigMap cilium-envoy-config",
		"DaemonSet cilium", "DaemonSet cilium-envoy",
		"Deployment cilium-operator", "PodDisruptionBudget cilium-operator",
		"ServiceAccount cilium", "ServiceAccount cilium-operator", "ServiceAccount cilium-envoy",
		"ClusterRole cilium", "ClusterRoleBinding cilium", "ClusterRole cilium-operator", "ClusterRoleBinding cilium-operator",
		"Role cilium-config-agent", "RoleBinding cilium-config-agent",
		"Service hubble-metrics", "Service cilium-envoy",
	}
	hubble = []string{
		"Deployment hubble-relay", "Service hubble-relay", "ServiceAccount hubble-relay", "ConfigMap hubble-relay-config",
		"ClusterRoleBinding hubble-relay", "Service hubble-peer",
		"Deployment hubble-ui", "Service hubble-ui", "ServiceAccount hubble-ui", "ConfigMap hubble-ui-nginx",
		"ClusterRole hubble-ui", "ClusterRoleBinding hubble-ui",
		"Job hubble-generate-certs", "CronJob hubble-generate-certs", "ServiceAccount hubble-generate-certs",
		"Role hubble-generate-certs", "RoleBinding hubble-generate-certs", "ClusterRoleBinding hubble-generate-certs",
	}
	alwaysLater       = []string{"CiliumNetworkPolicy gardener.cloud--allow-dns-from-remote-nodes"}
	nodeLocalDNSLater = []string{"CiliumLocalRedirectPolicy nodelocaldns", "CiliumClusterwideNetworkPolicy nodelocaldns"}
	hubbleLater       = []string{
		"CiliumNetworkPolicy gardener.cloud--allow-hubble-relay-from-hubble-ui",
		"CiliumNetworkPolicy gardener.cloud--allow-hubble-ui-to-hubble-relay",
		"CiliumNetworkPolicy gardener.cloud--allow-hubble-relay-to-peers",
	}
	inSeed = []string{
		"ConfigMap cilium-dashboards", "PrometheusRule shoot-cilium-agent",
		"ScrapeConfig shoot-cilium-agent", "ScrapeConfig shoot-cilium-hubble", "ScrapeConfig shoot-cilium-operator",
	}
)

// stocked is a network by what it consists of.
type stocked struct {
	name, config string
	options      []option

	hubble, nodeLocalDNS bool
	// sidecars and inits are what the agent's pods have besides what all have.
	sidecars, inits []string
}

var (
	toDNS         = []string{"add-snat-rule-to-upstream-dns"}
	toWorld       = []string{"add-snat-rule-to-outside-world"}
	afterProxy    = []string{"cilium-kube-proxy-clean-up"}
	allInits      = []string{"disable-rp-filter", "config", "mount-cgroup", "apply-sysctl-overwrites", "mount-bpf-fs", "clean-cilium-state", "install-cni-binaries"}
	noKubeProxy   = []option{withoutKubeProxy}
	everywhere    = "{hubble: {enabled: true}, snatToUpstreamDNS: {enabled: true}, snatOutOfCluster: {enabled: true}, l2Announcements: {enabled: true}}"
	everyFact     = []option{withoutKubeProxy, withNodeLocalDNS, withNodes(2)}
	hubbleEnabled = "hubble: {enabled: true}"
)

var stock = []stocked{
	{name: "nothing"},
	{name: "empty config", config: "{}"},
	{name: "overlay", config: "overlay: {enabled: true}"},
	{name: "no overlay", config: "overlay: {enabled: false}"},
	{name: "own routes", config: "overlay: {enabled: false, createPodRoutes: true}"},
	{name: "Geneve", config: "tunnel: geneve"},
	{name: "no tunnel", config: "tunnel: disabled"},
	{name: "IPv6", options: []option{ipv6Only}},
	{name: "IPv6 without overlay", config: "overlay: {enabled: false}", options: []option{ipv6Only}},
	{name: "dual-stack", options: []option{dualStack}},
	{name: "migrating", options: []option{migrating}},
	{name: "cluster pool", options: []option{withClusterPool}},
	{name: "two nodes", options: []option{withNodes(2)}},
	{name: "no kube-proxy", options: noKubeProxy, inits: afterProxy},
	{name: "no kube-proxy, a host of the user's", config: "kubeproxy: {k8sServiceHost: 10.0.0.1, k8sServicePort: 6443}", options: noKubeProxy, inits: afterProxy},
	{name: "egress gateway", config: "egressGateway: {enabled: true}", options: noKubeProxy, inits: afterProxy},
	{name: "SNAT to DNS", config: "snatToUpstreamDNS: {enabled: true}", sidecars: toDNS},
	{name: "SNAT to the world", config: "snatOutOfCluster: {enabled: true}", sidecars: toWorld},
	{name: "both SNATs", config: "{snatToUpstreamDNS: {enabled: true}, snatOutOfCluster: {enabled: true}}", sidecars: slices.Concat(toDNS, toWorld)},
	{name: "NodeLocalDNS", options: []option{withNodeLocalDNS}, nodeLocalDNS: true},
	{name: "NodeLocalDNS without kube-proxy", options: []option{withNodeLocalDNS, withoutKubeProxy}, nodeLocalDNS: true, inits: afterProxy},
	{name: "Hubble", config: hubbleEnabled, hubble: true},
	{name: "Hubble off", config: "hubble: {enabled: false}"},
	{name: "Hubble, IPv6", config: hubbleEnabled, options: []option{ipv6Only}, hubble: true},
	{name: "Hubble with NodeLocalDNS", config: hubbleEnabled, options: []option{withNodeLocalDNS}, hubble: true, nodeLocalDNS: true},
	{name: "L2 announcements", config: "l2Announcements: {enabled: true}"},
	{name: "BGP", config: "bgpControlPlane: {enabled: true}"},
	{name: "WireGuard", config: "encryption: {enabled: true, mode: wireguard}"},
	{name: "strict WireGuard", config: "encryption: {enabled: true, mode: wireguard, strictMode: true}"},
	{name: "DSR", config: "{overlay: {enabled: false}, loadBalancingMode: dsr}"},
	{name: "service mesh", config: "{bpfSocketLBHostnsOnly: {enabled: true}, cni: {exclusive: false}}"},
	{name: "audit", config: "{policyAuditMode: true, debug: true}"},
	{name: "everything", config: everywhere, options: everyFact, hubble: true, nodeLocalDNS: true,
		sidecars: slices.Concat(toDNS, toWorld), inits: afterProxy},
}

func (s stocked) build(t *testing.T) *network {
	t.Helper()
	return build(t, s.config, s.options...)
}

func TestWhatNetworksConsistOf(t *testing.T) {
	for _, each := range stock {
		t.Run(each.name, func(t *testing.T) {
			g := NewWithT(t)
			n := each.build(t)
			now, later := always, alwaysLater
			if each.hubble {
				now, later = slices.Concat(now, hubble), slices.Concat(later, hubbleLater)
			}
			if each.nodeLocalDNS {
				later = slices.Concat(later, nodeLocalDNSLater)
			}
			g.Expect(inventory(n.Objects.In(bundleName))).To(ConsistOf(now))
			g.Expect(inventory(n.Objects.In(bundleName + "-later"))).To(ConsistOf(later))
			g.Expect(inventory(n.Objects.For(plugin.Seed))).To(ConsistOf(inSeed))
			pod := n.agent().Spec.Template.Spec
			g.Expect(names(pod.Containers)).To(Equal(slices.Concat([]string{"cilium-agent"}, each.sidecars)))
			g.Expect(names(pod.InitContainers)).To(Equal(slices.Concat(allInits, each.inits)), "in this order")
		})
	}
}

func TestKindsThatTheOperatorBringsComeLater(t *testing.T) {
	for _, each := range stock {
		g := NewWithT(t)
		n := each.build(t)
		for _, object := range n.Objects.In(bundleName) {
			g.Expect(object.GetObjectKind().GroupVersionKind().Group).NotTo(Equal("cilium.io"), object.GetName())
		}
		for _, object := range n.Objects.In(bundleName + "-later") {
			g.Expect(object.GetObjectKind().GroupVersionKind().GroupVersion().String()).To(Equal("cilium.io/v2"), object.GetName())
		}
	}
}

func TestComponentsAreTheWorkloads(t *testing.T) {
	g := NewWithT(t)
	usual := []plugin.Component{
		{Name: "ciliumAgents", Kind: "DaemonSet", Workload: "cilium", Namespace: "kube-system"},
		{Name: "operator", Kind: "Deployment", Workload: "cilium-operator", Namespace: "kube-system"},
		{Name: "envoy", Kind: "DaemonSet", Workload: "cilium-envoy", Namespace: "kube-system"},
	}
	g.Expect(build(t, "").Objects.Components).To(Equal(usual))
	n := build(t, hubbleEnabled)
	g.Expect(n.Objects.Components).To(Equal(slices.Concat(usual, []plugin.Component{
		{Name: "hubbleRelay", Kind: "Deployment", Workload: "hubble-relay", Namespace: "kube-system"},
		{Name: "hubbleUI", Kind: "Deployment", Workload: "hubble-ui", Namespace: "kube-system"},
	})))
	for _, component := range n.Objects.Components {
		g.Expect(inventory(n.Objects.In(bundleName))).To(ContainElement(component.Kind + " " + component.Workload))
	}
}

// Pods ask for a token themselves: their identities do not give one.
func TestIdentitiesGiveNoTokens(t *testing.T) {
	g := NewWithT(t)
	n := build(t, everywhere, everyFact...)
	for _, object := range n.Objects.In(bundleName) {
		if account, ok := object.(*corev1.ServiceAccount); ok && account.Name != "cilium-envoy" {
			g.Expect(account.AutomountServiceAccountToken).To(HaveValue(BeFalse()), account.Name)
		}
	}
	g.Expect(need[*corev1.ServiceAccount](n, "cilium-envoy").AutomountServiceAccountToken).To(BeNil(), "as in Gardener")
	for name, template := range n.templates() {
		g.Expect(template.Spec.AutomountServiceAccountToken).To(HaveValue(Equal(name != "Deployment hubble-relay")), name)
	}
}

func TestStandaloneOnlyTheRelayHasNoToken(t *testing.T) {
	g := NewWithT(t)
	n := build(t, hubbleEnabled, func(f *plugin.Input) { f.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"} })
	with := map[string]bool{}
	for name, template := range n.templates() {
		for _, volume := range template.Spec.Volumes {
			if strings.HasPrefix(volume.Name, "kube-api-access-") {
				with[name] = true
			}
		}
	}
	g.Expect(slices.Sorted(maps.Keys(with))).To(Equal([]string{
		"CronJob hubble-generate-certs", "DaemonSet cilium", "DaemonSet cilium-envoy", "Deployment cilium-operator", "Deployment hubble-ui",
	}), "the Job's gets its own from Kubernetes itself")
}

// With another address, the Job would be recreated, and the authority with it.
func TestStandaloneCertificatesAreRenewedFromOutsideOfServices(t *testing.T) {
	g := NewWithT(t)
	n := build(t, hubbleEnabled, standalone)
	const name = "hubble-generate-certs"
	g.Expect(need[*batchv1.Job](n, name)).To(Equal(need[*batchv1.Job](build(t, hubbleEnabled), name)))
	renewing := need[*batchv1.CronJob](n, name).Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	g.Expect(envOf(t, renewing)).To(HaveKeyWithValue("KUBERNETES_SERVICE_HOST", "api.example.com"))
}

func TestEveryWorkloadMeetsTheNetworkPoliciesOfKubeSystem(t *testing.T) {
	g := NewWithT(t)
	templates := build(t, everywhere, everyFact...).templates()
	g.Expect(templates).To(HaveLen(7))
	for name, template := range templates {
		for _, target := range []string{"to-apiserver", "to-dns", "to-public-networks"} {
			g.Expect(template.Labels).To(HaveKeyWithValue("networking.gardener.cloud/"+target, "allowed"), name)
		}
	}
}

// Two bindings of Hubble refer to ClusterRoles that do not exist, and so give no rights.
func TestEveryBindingHasItsRoleAndEveryPodItsAccount(t *testing.T) {
	g := NewWithT(t)
	n := build(t, everywhere, everyFact...)
	all := inventory(n.Objects.In(bundleName))
	var without []string
	for _, object := range n.Objects.In(bundleName) {
		switch typed := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			if !slices.Contains(all, "ClusterRole "+typed.RoleRef.Name) {
				without = append(without, typed.Name)
			}
			g.Expect(typed.RoleRef.Name).To(Equal(typed.Name))
			g.Expect(all).To(ContainElement("ServiceAccount "+typed.Subjects[0].Name), typed.Name)
		case *rbacv1.RoleBinding:
			g.Expect(all).To(ContainElements("Role "+typed.RoleRef.Name, "ServiceAccount "+typed.Subjects[0].Name), typed.Name)
		}
	}
	g.Expect(without).To(ConsistOf("hubble-relay", "hubble-generate-certs"))
	for name, template := range n.templates() {
		g.Expect(all).To(ContainElement("ServiceAccount "+template.Spec.ServiceAccountName), name)
	}
}

func TestEverythingIsInKubeSystem(t *testing.T) {
	g := NewWithT(t)
	n := build(t, everywhere, everyFact...)
	for _, object := range slices.Concat(n.Objects.In(bundleName), n.Objects.In(bundleName+"-later")) {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		namespace := "kube-system"
		if strings.HasPrefix(kind, "Cluster") || strings.HasPrefix(kind, "CiliumClusterwide") {
			namespace = ""
		}
		g.Expect(object.GetNamespace()).To(Equal(namespace), shown(object))
	}
}

func TestObjectsStateNothingEmpty(t *testing.T) {
	g := NewWithT(t)
	n := build(t, everywhere, everyFact...)
	written := built.Documents(t, slices.Concat(n.Objects.In(bundleName), n.Objects.In(bundleName+"-later"), n.Objects.For(plugin.Seed)))
	for _, leftover := range []string{`"creationTimestamp"`, `:null`, `"status"`} {
		g.Expect(written).NotTo(ContainSubstring(leftover))
	}
}
