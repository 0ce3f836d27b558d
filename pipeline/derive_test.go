// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/test/contract"
)

func shoot(change func(*corev1beta1.Shoot)) *corev1beta1.Shoot {
	s := &corev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "garden-dev"},
		Spec: corev1beta1.ShootSpec{
			Provider:   corev1beta1.Provider{Type: "infra", Workers: []corev1beta1.Worker{{Name: "w", Maximum: 3}}},
			Networking: &corev1beta1.Networking{Type: ptr.To("noop")},
		},
	}
	change(s)
	return s
}

func TestNetworksAreDerivedAsGardenletDoes(t *testing.T) {
	contract.Shows(t, "C9")
	for name, test := range map[string]struct {
		change func(*corev1beta1.Shoot)
		wants  extensionsv1alpha1.NetworkSpec
	}{
		"defaults": {func(*corev1beta1.Shoot) {}, spec{PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13", IPFamilies: []extensionsv1alpha1.IPFamily{"IPv4"}}},
		"stated": {func(s *corev1beta1.Shoot) {
			s.Spec.Networking.Pods, s.Spec.Networking.Services = ptr.To("10.1.0.0/16"), ptr.To("10.2.0.0/16")
		}, spec{PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16", IPFamilies: []extensionsv1alpha1.IPFamily{"IPv4"}}},
		"dual-stack, IPv6 first: the IPv4 ranges": {func(s *corev1beta1.Shoot) {
			s.Spec.Networking.IPFamilies = []string{"IPv6", "IPv4"}
			s.Status.Networking = &corev1beta1.NetworkingStatus{Pods: []string{"fd00::/56", "10.1.0.0/16"}, Services: []string{"fd01::/112", "10.2.0.0/16"}}
		}, spec{PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16", IPFamilies: []extensionsv1alpha1.IPFamily{"IPv6", "IPv4"}}},
		"IPv6, ranges not known yet": {func(s *corev1beta1.Shoot) { s.Spec.Networking.IPFamilies = []string{"IPv6"} },
			spec{IPFamilies: []extensionsv1alpha1.IPFamily{"IPv6"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			network, err := pipeline.NetworkForShoot(shoot(test.change))
			g.Expect(err).NotTo(HaveOccurred())
			test.wants.Type = "noop"
			g.Expect(network.Spec).To(Equal(test.wants))
			g.Expect(network.Name + " in " + network.Namespace).To(Equal("mine in shoot--dev--mine"))
		})
	}
}

func TestShootsWithoutWorkersHaveNoNetwork(t *testing.T) {
	contract.Shows(t, "C10")
	_, err := pipeline.NetworkForShoot(shoot(func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers = nil }))
	NewWithT(t).Expect(err).To(MatchError(pipeline.ErrWorkerless))
}

func TestTheControlPlaneNamespaceIsTheTechnicalID(t *testing.T) {
	g := NewWithT(t)
	g.Expect(pipeline.ControlPlaneNamespace(shoot(func(s *corev1beta1.Shoot) { s.Status.TechnicalID = "shoot--x--y" }))).To(Equal("shoot--x--y"))
	g.Expect(pipeline.ControlPlaneNamespace(shoot(func(s *corev1beta1.Shoot) { s.Namespace = "team" }))).To(Equal("shoot--team--mine"))
}

func TestFactsComeFromTheShoot(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	facts := p.NewRequest(network(""), shoot(func(s *corev1beta1.Shoot) {
		s.Spec.Kubernetes = corev1beta1.Kubernetes{
			Version:               "1.36.3",
			KubeProxy:             &corev1beta1.KubeProxy{Enabled: ptr.To(false), Mode: ptr.To(corev1beta1.ProxyModeIPVS)},
			VerticalPodAutoscaler: &corev1beta1.VerticalPodAutoscaler{Enabled: true},
			KubeAPIServer:         &corev1beta1.KubeAPIServer{FeatureGates: map[string]bool{"A": true}},
		}
		s.Spec.Networking.Nodes = ptr.To("10.3.0.0/16")
		s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(true)}
		s.Spec.SystemComponents = &corev1beta1.SystemComponents{NodeLocalDNS: &corev1beta1.NodeLocalDNS{Enabled: true}}
		s.Status.Networking = &corev1beta1.NetworkingStatus{Nodes: []string{"10.3.0.0/17"}}
	}), noEnvironment).Facts
	g.Expect(facts.KubernetesVersion).To(Equal("1.36.3"))
	g.Expect(facts.KubeProxy.Enabled).To(BeFalse())
	g.Expect(facts.KubeProxy.Mode).To(Equal(corev1beta1.ProxyModeIPVS))
	g.Expect(facts.VPA && facts.Hibernated && facts.NodeLocalDNS).To(BeTrue())
	g.Expect(facts.APIServer.FeatureGates).To(HaveKey("A"))
	g.Expect(facts.NodeCIDR).To(Equal("10.3.0.0/16"))
	g.Expect(facts.NodeCIDRs).To(Equal([]string{"10.3.0.0/17"}))
	g.Expect(facts.NodesAtMost).To(BeEquivalentTo(3))
	g.Expect(facts.Infrastructure.NoIPIP).To(BeTrue())
}

// During a migration to dual-stack only the primary family is deployed.
func TestFamiliesWaitForTheNodesToMigrate(t *testing.T) {
	contract.Shows(t, "N25", "N26")
	for status, wants := range map[corev1beta1.ConditionStatus]int{"Progressing": 1, "False": 1, "True": 2, "": 2} {
		t.Run(string(status), func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			facts := p.NewRequest(network("", func(s *spec) { s.IPFamilies = []extensionsv1alpha1.IPFamily{"IPv4", "IPv6"} }),
				shoot(func(s *corev1beta1.Shoot) {
					if status != "" {
						s.Status.Constraints = []corev1beta1.Condition{{Type: "DualStackNodesMigrationReady", Status: status}}
					}
				}), noEnvironment).Facts
			g.Expect(facts.IPFamilies).To(HaveLen(wants))
			g.Expect(facts.WantedIPFamilies).To(HaveLen(2))
		})
	}
}

// A user who wrote a Shoot reads the paths of a Shoot.
func TestErrorsAreInTheAuthorsTerms(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	s := shoot(func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(`{"mode":"tight"}`)}
	})
	derived, err := pipeline.NetworkForShoot(s)
	g.Expect(err).NotTo(HaveOccurred())
	request := p.NewRequest(derived, s, noEnvironment)
	request.Author = pipeline.AuthorShoot
	g.Expect(lines(p.Build(request).Errors)).To(HavePrefix("spec.networking.providerConfig.mode:"))
}
