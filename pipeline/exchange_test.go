// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/plugins/flannel"
)

// plain is a network of type plain, which others can take the place of.
type plain struct{ noopPlugin }

func (plain) Describe() plugin.Description {
	description := noopPlugin{}.Describe()
	description.Type = "plain"
	description.Images = plugin.ParseImages([]byte(`[{name: plain, repository: example.org/plain, tag: v1}]`))
	return description
}

func (plain) Classify(plugin.Change[noopConfig]) (plugin.ChangeClass, string) { return plugin.Safe, "" }

func (plain) Render(*noopConfig, *plugin.Input) (plugin.Objects, error) {
	labels := system.SystemApp("plain")
	agents := &appsv1.DaemonSet{
		TypeMeta: system.TypeMeta("apps/v1", "DaemonSet"), ObjectMeta: system.Named("plain", labels),
		Spec: appsv1.DaemonSetSpec{Selector: system.Selecting(system.App("plain")), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "plain", Image: "example.org/plain:v1"}},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{
						{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}},
						{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "b", Operator: corev1.NodeSelectorOpExists}}},
					}},
				}},
			},
		}},
	}
	components := []plugin.Component{{Name: "agents", Kind: "DaemonSet", Workload: "plain", Namespace: "kube-system"}}
	return plugin.NewObjects(components, plugin.NetworkBundle("plain", []plugin.Object{agents})), nil
}

func (plain) Exchange(effective *noopConfig, _ *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{Remnants: plugin.Remnants{
		Image: "plain", Files: []string{"/etc/cni/net.d/10-plain.conf"}, Interfaces: []string{"plain0"}, Tables: []string{"ip plain"},
	}}
	if effective.Tunnel != nil && effective.Tunnel.Enabled {
		exchange.Obstacles = field.ErrorList{field.Forbidden(path.Child("tunnel", "enabled"), "must be false while the type changes")}
	}
	return exchange
}

func (plain) DescribeDataPath(*noopConfig) plugin.DataPath {
	return plugin.DataPath{Packets: "no encapsulation", Router: "the agents"}
}

// withTypes returns a pipeline with networks that can take each other's place, and the Requests of a network of each type.
func withTypes(t *testing.T) (p *pipeline.Pipeline, of func(networkType, config string) pipeline.Request) {
	p, err := pipeline.New([]plugin.Plugin{plugin.New(plain{}), flannel.New(), plugin.New(noopPlugin{}), plugin.New(routed{}), plugin.New(secluded{}), plugin.New(pinned{})}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p, func(networkType, config string) pipeline.Request {
		n := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "shoot--one"}}
		n.Spec = extensionsv1alpha1.NetworkSpec{Type: networkType, PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16"}
		if config != "" {
			n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
		}
		return p.NewRequest(n, nil, plugin.Environment{Probe: &plugin.Probe{}})
	}
}

const hostGateway = `{"apiVersion":"flannel.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","backend":{"type":"host-gw"}}`

// termsOf returns what nodes must have for the pods of a DaemonSet, one line for each term.
func termsOf(g Gomega, objects plugin.Objects, name string) (terms []string) {
	for _, object := range objects.For(plugin.Shoot) {
		if agents, is := object.(*appsv1.DaemonSet); is && agents.Name == name {
			for _, term := range agents.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				var parts []string
				for _, each := range term.MatchExpressions {
					parts = append(parts, strings.TrimSpace(each.Key+" "+string(each.Operator)+" "+strings.Join(each.Values, ",")))
				}
				terms = append(terms, strings.Join(parts, "; "))
			}
			return terms
		}
	}
	g.Expect(name).To(BeEmpty(), "there is no such DaemonSet")
	return nil
}

// Whichever of the two is wanted, nodes without a label keep the base, so that no node loses its agents before it
// is drained.
func TestNetworksOfTwoTypesShareACluster(t *testing.T) {
	for _, target := range []string{"plain", "flannel"} {
		t.Run(target, func(t *testing.T) {
			g := NewWithT(t)
			p, of := withTypes(t)
			built := p.BuildExchange(of("plain", ""), of("flannel", hostGateway), target)
			g.Expect(built.Errors).To(BeEmpty())
			g.Expect(termsOf(g, built.Objects, "plain")).To(Equal([]string{
				"a Exists; trellis.network/type NotIn flannel,none", "b Exists; trellis.network/type NotIn flannel,none"}))
			g.Expect(termsOf(g, built.Objects, "kube-flannel-ds")).To(Equal([]string{"trellis.network/type In flannel"}))
			g.Expect(termsOf(g, built.Objects, pipeline.CleanerName)).To(Equal([]string{"trellis.network/type In none"}))
			for _, object := range built.Objects.For(plugin.Shoot) {
				if agents, is := object.(*appsv1.DaemonSet); is && (agents.Name == "plain" || agents.Name == "kube-flannel-ds") {
					g.Expect(agents.Spec.UpdateStrategy.Type).To(Equal(appsv1.OnDeleteDaemonSetStrategyType), "agents that run do not start again")
				}
			}
			var bundles []string
			for _, each := range built.Objects.Bundles {
				bundles = append(bundles, each.Name)
			}
			g.Expect(bundles).To(ConsistOf("plain", "extension-networking-flannel-config", "trellis-connectivity-probe", pipeline.CleanerBundle))
			left := map[string]string{"plain": "flannel", "flannel": "plain"}[target]
			g.Expect(built.Exchange).To(Equal(&pipeline.Exchange{Base: "plain", Other: "flannel", From: left, Agents: map[string][]types.NamespacedName{
				"plain": {{Namespace: "kube-system", Name: "plain"}}, "flannel": {{Namespace: "kube-system", Name: "kube-flannel-ds"}},
			}}))
			g.Expect(string(built.Applied().Accepted.Spec.Type)).To(Equal(target))
		})
	}
}

// Before the first write everything is known that stands in the way.
func TestWhatStandsInTheWayOfAnotherType(t *testing.T) {
	for name, test := range map[string]struct {
		from, fromConfig, to, toConfig, says string
	}{
		"the network that leaves":       {"plain", `{"apiVersion":"noop.example.com/v1","kind":"NetworkConfig","tunnel":{"enabled":true}}`, "flannel", hostGateway, "spec.type: Forbidden: the network of type plain that runs stands in the way: its tunnel.enabled must be false while the type changes"},
		"the network that comes":        {"flannel", hostGateway, "plain", `{"apiVersion":"noop.example.com/v1","kind":"NetworkConfig","tunnel":{"enabled":true}}`, "spec.providerConfig.tunnel.enabled: Forbidden: must be false while the type changes"},
		"a type that cannot":            {"noop", "", "plain", "", "spec.type: Forbidden: networks of type noop cannot take the place of one of another type"},
		"what is wrong with the target": {"plain", "", "flannel", `{"apiVersion":"flannel.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","backend":{"type":"udp"}}`, "spec.providerConfig.backend.type: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			p, of := withTypes(t)
			built := p.CheckExchange(of(test.from, test.fromConfig), of(test.to, test.toConfig))
			NewWithT(t).Expect(built.Errors.ToAggregate()).To(MatchError(ContainSubstring(test.says)))
		})
	}
	t.Run("no kube-proxy", func(t *testing.T) {
		p, of := withTypes(t)
		from, to := of("plain", ""), of("flannel", hostGateway)
		to.Facts.KubeProxy.Enabled = false
		NewWithT(t).Expect(p.CheckExchange(from, to).Errors).NotTo(BeEmpty())
	})
}

// Users must know which of their objects have no effect any more.
func TestKindsOfWhichTheOtherNetworkKnowsNothing(t *testing.T) {
	g := NewWithT(t)
	p, of := withTypes(t)
	built := p.BuildExchange(of("plain", ""), of("routed", ""), "plain")
	g.Expect(built.Errors).To(BeEmpty())
	g.Expect(built.Exchange.From).To(Equal("routed"))
	g.Expect(built.Exchange.Kinds).To(HaveExactElements(HaveField("Kind", "Policy"), HaveField("Kind", "Tier")))
	built = p.BuildExchange(of("plain", ""), of("routed", ""), "routed")
	g.Expect(built.Exchange.Kinds).To(BeEmpty(), "of the network that comes")
}

// secluded is a network of type secluded, whose policies know only its own pods.
type secluded struct{ routed }

func (secluded) Describe() plugin.Description {
	description := plain{}.Describe()
	description.Type, description.Origin = "secluded", "secluded"
	return description
}

func (secluded) Exchange(config *noopConfig, in *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := routed{}.Exchange(config, in, path)
	exchange.KnowsOwnPodsOnly = true
	return exchange
}

func (secluded) Render(_ *noopConfig, in *plugin.Input) (plugin.Objects, error) {
	shares := &corev1.ConfigMap{TypeMeta: system.TypeMeta("v1", "ConfigMap"), ObjectMeta: system.Named("secluded", nil), Data: map[string]string{"shares": fmt.Sprint(in.SharesCluster)}}
	return plugin.NewObjects(nil, plugin.NetworkBundle("secluded", []plugin.Object{shares})), nil
}

// A network that takes pods of the other one for strangers would cut them off by any policy. So there must be none,
// not even that of the probes, whichever of the two leaves.
func TestPoliciesAreAwayWhileANetworkKnowsOnlyItsOwnPods(t *testing.T) {
	for _, target := range []string{"plain", "secluded"} {
		t.Run(target, func(t *testing.T) {
			g := NewWithT(t)
			p, of := withTypes(t)
			built := p.BuildExchange(of("plain", ""), of("secluded", ""), target)
			g.Expect(built.Errors).To(BeEmpty())
			g.Expect(built.Exchange.KnowsOwnPodsOnly).To(Equal("secluded"))
			g.Expect(built.Exchange.Kinds).To(HaveLen(2))
			protects := func(object plugin.Object) bool { _, is := object.(*networkingv1.NetworkPolicy); return is }
			g.Expect(slices.ContainsFunc(built.Objects.In(probe.BundleName), protects)).To(BeFalse())
			g.Expect(built.Exchange.Own).To(ContainElement(HaveField("Name", "trellis-probe")), "what is there before does not stand in the way")
			g.Expect(built.Objects.In("secluded")[0]).To(HaveField("Data", HaveKeyWithValue("shares", "true")))

			alone := p.Build(of("secluded", ""))
			g.Expect(slices.ContainsFunc(alone.Objects.In(probe.BundleName), protects)).To(BeTrue())
			g.Expect(alone.Objects.In("secluded")[0]).To(HaveField("Data", HaveKeyWithValue("shares", "false")))
		})
	}
}
