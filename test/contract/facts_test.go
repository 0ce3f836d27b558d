// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// What a Network has in the end is what its gardenlet reads of it, and
// that is one family until the nodes are ready for two.
func TestMigrationToDualStack(t *testing.T) {
	Shows(t, "N25", "N26")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	families := func() string { return inShoot(p, configMap(p.namespace, "mode", "")).Data["families"] }
	nodes := func(status corev1beta1.ConditionStatus) {
		p.cluster(func(s *corev1beta1.Shoot) {
			s.Status.Constraints = []corev1beta1.Condition{{Type: "DualStackNodesMigrationReady", Status: status}}
		})
	}
	p.deploys()
	p.ready()

	nodes("Progressing")
	p.gardenlet.Spec["ipFamilies"] = []any{"IPv4", "IPv6"}
	p.deploys()
	p.ready()
	p.Expect(families()).To(Equal("IPv4"))
	p.Expect(p.now().Status.IPFamilies).To(ConsistOf(extensionsv1alpha1.IPv4))

	// Neither the spec nor its generation changes now.
	nodes("True")
	p.deploys()
	p.ready()
	p.Expect(families()).To(Equal("IPv4,IPv6"))
	p.Expect(p.now().Status.IPFamilies).To(Equal([]extensionsv1alpha1.IPFamily{"IPv4", "IPv6"}))
	p.cluster(func(*corev1beta1.Shoot) {})
	p.deploys()
	p.ready()
	p.Expect(p.now().Status.IPFamilies).To(Equal([]extensionsv1alpha1.IPFamily{"IPv4", "IPv6"}))
}

// What a plugin cannot do without is an error of the user's.
func TestWithoutKubeProxy(t *testing.T) {
	Shows(t, "N27")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	proxy := func(enabled bool) {
		p.cluster(func(s *corev1beta1.Shoot) {
			s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: ptr.To(enabled)}
		})
	}
	proxy(false)
	p.deploys()
	p.becomes("Create", "Error")
	gaveUp := p.givesUp()
	p.Expect(gaveUp.Polls).To(Equal(7))
	p.Expect(gaveUp.Last.Message).To(ContainSubstring("Forbidden: this network does not mode Services: kube-proxy must be enabled"))
	p.Expect(p.managed()).To(BeEmpty())
	proxy(true)
	p.deploys()
	p.ready()
}

// A hibernated shoot has no resource manager.
func TestHibernatedShoots(t *testing.T) {
	Shows(t, "N28")
	t.Parallel()
	_, in, shoot := clusters(t)
	p := newControlPlane(t, in, shoot, newNamespace())
	p.deploys()
	p.ready()
	p.observer.trust() // what follows is not part of this test
	p.manager.stop()
	p.cluster(func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: ptr.To(true)} })
	p.wants("mode", "second")
	p.deploys()
	p.ready()
	p.Expect(p.mode()).To(Equal("first"))
}

// Of a Network without a Cluster, and of that of a failed shoot, the request is
// taken away, and nothing else is touched. Once that is over, what was asked for is done
// when it is asked for again.
func TestNetworksThatAreLeftAlone(t *testing.T) {
	Shows(t, "N16", "N17", "N34")
	t.Parallel()
	_, in, shoot := clusters(t)
	for name, test := range map[string]struct{ begin, end func(*controlPlane) }{
		"no Cluster": {
			func(p *controlPlane) {
				c := &extensionsv1alpha1.Cluster{}
				c.Name = p.namespace
				p.Expect(p.seed.client.Delete(p.t.Context(), c)).To(Succeed())
			},
			func(p *controlPlane) { p.cluster(func(*corev1beta1.Shoot) {}) },
		},
		"failed": {
			func(p *controlPlane) {
				p.cluster(func(s *corev1beta1.Shoot) { s.Status.LastOperation = &corev1beta1.LastOperation{State: "Failed"} })
			},
			func(p *controlPlane) { p.cluster(func(*corev1beta1.Shoot) {}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newControlPlane(t, in, shoot, newNamespace())
			test.begin(p)
			p.deploys()
			_, err := p.observer.next(t.Context())
			p.Expect(err).NotTo(HaveOccurred())
			p.Eventually(func() map[string]string { return p.now().Annotations }).ShouldNot(HaveKey("gardener.cloud/operation"))
			before := p.now().ResourceVersion
			p.quiet(func() int { return len(p.requestsAbout("extensions.gardener.cloud")) })
			n := p.now()
			p.Expect(n.ResourceVersion).To(Equal(before))
			p.Expect(n.Status.LastOperation).To(BeNil())
			p.Expect(n.Finalizers).To(BeEmpty())
			test.end(p)
			p.deploys()
			p.ready()
		})
	}
}
