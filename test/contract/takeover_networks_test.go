// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/pipeline/probe"
)

// auditor knows what a shoot and its control plane have.
type auditor struct {
	// objects are those that ManagedResources list, by kind and name.
	objects map[string]*unstructured.Unstructured
	// templates are workloads' pod templates, by kind and name.
	templates map[string]string
	// managed are the ManagedResources, and inSeed the monitoring in the seed.
	managed, inSeed []string
}

// audit looks at everything, once all ManagedResources are applied or gone.
func (p *controlPlane) audit() auditor {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		for _, mr := range p.managedForShoot() {
			g.Expect(mr.DeletionTimestamp).To(BeNil(), mr.Name)
			g.Expect(mr.Status.ObservedGeneration).To(Equal(mr.Generation), mr.Name)
			g.Expect(mr.Status.Conditions).To(ContainElement(And(
				HaveField("Type", "ResourcesApplied"), HaveField("Status", corev1beta1.ConditionTrue))), "%s: %v", mr.Name, mr.Status.Conditions)
		}
	}).WithTimeout(patience).Should(Succeed())
	found := auditor{objects: p.objects(p), templates: map[string]string{}, managed: p.managed()}
	slices.Sort(found.managed)
	for key, object := range found.objects {
		if template, has, _ := unstructured.NestedMap(object.Object, "spec", "template"); has {
			raw, err := json.Marshal(template)
			p.Expect(err).NotTo(HaveOccurred())
			found.templates[key] = string(raw)
		}
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "monitoring.coreos.com", Version: "v1alpha1", Kind: "ScrapeConfig"}, {Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Version: "v1", Kind: "ConfigMap"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		p.Expect(p.seed.client.List(p.t.Context(), list, client.InNamespace(p.namespace))).To(Succeed())
		for i := range list.Items {
			if name := list.Items[i].GetName(); name != "kube-root-ca.crt" {
				found.inSeed = append(found.inSeed, kind.Kind+" "+name)
			}
		}
	}
	slices.Sort(found.inSeed)
	return found
}

// restarted are the workloads whose pods were replaced since.
func (a *auditor) restarted(since *auditor) []string {
	var found []string
	for key, template := range since.templates {
		if a.templates[key] != template {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// lost are the objects that are gone since, or were created anew. A webhook is the extension's own.
func (a *auditor) lost(since *auditor) []string {
	var found []string
	for key, object := range since.objects {
		if object.GetKind() == "MutatingWebhookConfiguration" {
			continue
		}
		if now := a.objects[key]; now == nil || now.GetUID() != object.GetUID() {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

var (
	calicoScripts = []string{
		"cleanup-routes", "log-mtu-issues", "hostpath-init", "install-cni-plugins",
		"add-snat-rule-to-upstream-dns", "network-unavailable-condition-ensurer",
	}
	ciliumScripts = []string{
		"disable-rp-filter", "mount-cgroup", "apply-sysctl-overwrites", "mount-bpf-fs", "cilium-kube-proxy-clean-up",
		"add-snat-rule-to-upstream-dns", "add-snat-rule-to-outside-world",
	}
	calicoNode  = []string{"DaemonSet kube-system/calico-node"}
	ciliumAgent = []string{"DaemonSet kube-system/cilium"}
)

func calicoOf(config string, shoot func(*corev1beta1.Shoot), more ...string) *extensionNetwork {
	return &extensionNetwork{networkType: "calico", config: config, shoot: shoot, scripts: calicoScripts, restarts: slices.Concat(calicoNode, more)}
}

func ciliumOf(config string, shoot func(*corev1beta1.Shoot)) *extensionNetwork {
	return &extensionNetwork{networkType: "cilium", config: config, shoot: shoot, scripts: ciliumScripts, restarts: ciliumAgent}
}

func withVPA(s *corev1beta1.Shoot) {
	s.Spec.Kubernetes.VerticalPodAutoscaler = &corev1beta1.VerticalPodAutoscaler{Enabled: true}
}

func withoutKubeProxy(s *corev1beta1.Shoot) {
	s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: ptr.To(false)}
}

func withNodeLocalDNS(s *corev1beta1.Shoot) {
	s.Spec.SystemComponents = &corev1beta1.SystemComponents{NodeLocalDNS: &corev1beta1.NodeLocalDNS{Enabled: true}}
}

func withBothFamilies(s *corev1beta1.Shoot) {
	s.Spec.Networking.IPFamilies = []string{"IPv4", "IPv6"}
	s.Status.Networking.Pods = append(s.Status.Networking.Pods, "2001:db8:1::/56")
	s.Status.Networking.Services = append(s.Status.Networking.Services, "2001:db8:2::/112")
}

// Networks that Gardener's extensions run are taken over and handed back under the eyes of an
// auditor. The agents restart once each way, because scripts of Trellis are its own; nothing else
// does, no object is lost or created anew, and no ManagedResource or monitoring is left that the
// extension does not know: it would be waited for, or fought over.
func TestNetworksOfExtensionsAreTakenOverAndHandedBack(t *testing.T) {
	for name, former := range map[string]*extensionNetwork{
		"Calico as it is by default": calicoOf("{}", nil),
		"Calico with an overlay":     calicoOf("{overlay: {enabled: true}}", withVPA),
		"Calico with VXLAN":          calicoOf("{overlay: {enabled: true}, vxlan: {enabled: true}}", nil),
		"Calico without overlay":     calicoOf("{overlay: {enabled: false}}", nil),
		"Calico with eBPF": calicoOf("{overlay: {enabled: true}, ebpfDataplane: {enabled: true}, wireguardEncryption: true, autoScaling: {mode: vpa}}",
			func(s *corev1beta1.Shoot) { withVPA(s); withoutKubeProxy(s) }),
		"Calico with both families and Multus": calicoOf(
			"{overlay: {enabled: false}, birdExporter: {enabled: true}, multus: {enabled: true, installCNIPlugins: true}, autoScaling: {mode: static}}",
			withBothFamilies, "DaemonSet kube-system/multus"),
		"Cilium as it is by default":   ciliumOf("{}", nil),
		"Cilium with Hubble":           ciliumOf("{overlay: {enabled: false}, hubble: {enabled: true}, snatToUpstreamDNS: {enabled: true}}", nil),
		"Cilium without kube-proxy":    ciliumOf("{encryption: {enabled: true, mode: wireguard}, l2Announcements: {enabled: true}}", func(s *corev1beta1.Shoot) { withoutKubeProxy(s); withNodeLocalDNS(s) }),
		"Cilium with both IP families": ciliumOf("{overlay: {enabled: false}, hubble: {enabled: true}, snatOutOfCluster: {enabled: true}}", func(s *corev1beta1.Shoot) { withBothFamilies(s); withNodeLocalDNS(s) }),
	} {
		former.again = name == "Cilium with Hubble"
		t.Run(name, func(t *testing.T) { thereAndBack(t, former) })
	}
}

// startsLater has Trellis start when it is started next.
func startsLater(p *controlPlane, _ *network.Options) {
	start := p.start
	p.start = func() { p.trellis, p.start = &process{stop: func() {}}, start }
}

// handBack removes, as docs/takeover.md says, the ManagedResources that the extension does not know.
// Their objects stay, since the extension has the same; but for the probe, which is Trellis' own.
func (p *controlPlane) handBack(known []string) {
	p.t.Helper()
	for _, name := range p.managed() {
		if slices.Contains(known, name) {
			continue
		}
		mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
		if name != probe.BundleName {
			keep := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"keepObjects":true}}`))
			p.Expect(p.seed.client.Patch(p.t.Context(), mr, keep)).To(Succeed())
		}
		p.Expect(p.seed.client.Delete(p.t.Context(), mr)).To(Succeed())
		p.Eventually(func() bool { return p.isGone(p.seed.client, mr) }).WithTimeout(patience).Should(BeTrue(), name)
	}
}

func thereAndBack(t *testing.T, former *extensionNetwork) {
	p := former.controlPlane(t)
	p.deploys()
	former.reconcile(p)
	before := p.audit()

	p.start()
	p.deploys()
	p.ready()
	taken := p.audit()
	p.Expect(taken.restarted(&before)).To(Equal(former.restarts))
	p.Expect(taken.lost(&before)).To(BeEmpty())
	p.Expect(taken.inSeed).To(Equal(before.inSeed))
	t.Logf("taken over: %d of %d pod templates changed, %d of %d objects lost, %d more objects",
		len(taken.restarted(&before)), len(before.templates), len(taken.lost(&before)), len(before.objects), len(taken.objects)-len(before.objects))

	p.trellis.stop()
	p.handBack(before.managed)
	p.deploys()
	former.reconcile(p)
	after := p.audit()
	p.Expect(after.managed).To(Equal(before.managed))
	p.Expect(after.inSeed).To(Equal(before.inSeed))
	p.Expect(after.lost(&before)).To(BeEmpty())
	p.Expect(after.restarted(&before)).To(BeEmpty(), "it is as it was before")
	p.Expect(slices.Sorted(maps.Keys(after.objects))).To(Equal(slices.Sorted(maps.Keys(before.objects))))
	p.leavesNothing(&taken, &after)
	if former.again {
		p.start()
		p.deploys()
		p.ready()
		again := p.audit()
		p.Expect(again.restarted(&before)).To(Equal(former.restarts))
		p.Expect(again.lost(&before)).To(BeEmpty())
		p.trellis.stop()
		p.handBack(before.managed)
		p.deploys()
		former.reconcile(p)
	}
	former.isDeleted(p)
}

// controlPlane makes a control plane for the network, in which Trellis does not run yet.
func (e *extensionNetwork) controlPlane(t *testing.T) *controlPlane {
	t.Helper()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace(), theOperator, startsLater)
	p.observer.trust()
	p.kinds(in.client, "monitoring.coreos.com/v1alpha1/ScrapeConfig/scrapeconfigs/Namespaced", "monitoring.coreos.com/v1/PrometheusRule/prometheusrules/Namespaced")
	p.kinds(shoot.client, "autoscaling.k8s.io/v1/VerticalPodAutoscaler/verticalpodautoscalers/Namespaced",
		"cilium.io/v2/CiliumNetworkPolicy/ciliumnetworkpolicies/Namespaced", "cilium.io/v2/CiliumLocalRedirectPolicy/ciliumlocalredirectpolicies/Namespaced",
		"cilium.io/v2/CiliumClusterwideNetworkPolicy/ciliumclusterwidenetworkpolicies/Cluster")
	e.build(p)
	return p
}

// leavesNothing means that what only the former auditor has seen goes from the shoot.
func (p *controlPlane) leavesNothing(former, now *auditor) {
	p.t.Helper()
	for key, object := range former.objects {
		if now.objects[key] == nil {
			p.Eventually(func() bool { return p.isGone(p.shoot.client, object) }).WithTimeout(patience).Should(BeTrue(), "%s is left", key)
		}
	}
}

// isDeleted has the extension delete the network. Nothing is left.
func (e *extensionNetwork) isDeleted(p *controlPlane) {
	p.t.Helper()
	e.delete(p)
	p.Expect(p.managed()).To(BeEmpty(), "what a gardenlet would wait for")
	p.Expect(p.audit().inSeed).To(BeEmpty())
}

// An extension can have networks that Trellis has made: it finds nothing that it must wait for or
// fight over, and no object is lost. Those that it has under other checksums restart once.
func TestNetworksOfTrellisAreHandedToExtensions(t *testing.T) {
	for name, next := range map[string]*extensionNetwork{
		"Calico": calicoOf("{}", nil),
		"Cilium": ciliumOf("{hubble: {enabled: true}}", nil),
	} {
		t.Run(name, func(t *testing.T) {
			p := next.controlPlane(t)
			p.start()
			p.deploys()
			p.ready()
			before := p.audit()
			p.trellis.stop()
			p.handBack([]string{next.name(), "extension-cilium-shoot-webhooks"})
			p.deploys()
			next.reconcile(p)
			after := p.audit()
			p.Expect(after.managed).NotTo(ContainElement(Or(HaveSuffix("-later"), HaveSuffix("-seed"), Equal(probe.BundleName))))
			p.Expect(after.inSeed).To(Equal(before.inSeed))
			p.leavesNothing(&before, &after)
			for _, key := range after.lost(&before) {
				p.Expect(before.objects[key].GetName()).To(ContainSubstring("trellis"), "%s is lost, which is not the probe's", key)
			}
			next.isDeleted(p)
		})
	}
}
