// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// A Network whose deletion is not confirmed stays. What must not change cannot; the
// providerConfig can.
func TestWhatASeedRefuses(t *testing.T) {
	Shows(t, "C5", "C6")
	t.Parallel()
	inBothSchemas(t, func(t *testing.T, in, _, shoot *cluster) {
		p := newControlPlane(t, in, shoot, newNamespace())
		p.deploys()
		p.ready()
		p.Expect(in.client.Delete(t.Context(), p.now())).NotTo(Succeed())
		for name, change := range map[string]func(*extensionsv1alpha1.Network){
			"podCIDR":     func(n *extensionsv1alpha1.Network) { n.Spec.PodCIDR = "10.3.0.0/16" },
			"serviceCIDR": func(n *extensionsv1alpha1.Network) { n.Spec.ServiceCIDR = "10.3.0.0/16" },
			"type":        func(n *extensionsv1alpha1.Network) { n.Spec.Type = "albatross" },
		} {
			if name == "type" && in.schemas == "Trellis" {
				continue // standalone, the operator refuses it unless an annotation allows it
			}
			n := p.now()
			patch := client.MergeFrom(n.DeepCopy())
			change(n)
			p.Expect(in.client.Patch(t.Context(), n, patch)).To(MatchError(ContainSubstring(name)), name)
		}
		p.wants("mode", "second")
		p.deploys()
		p.ready()
		isDeleted(p)
	})
}

// Where the shoot is force-deleted, nothing in it is waited for, whether a
// deletion has been under way before or not. What Trellis leaves, the gardenlet
// removes.
func TestForcedDeletion(t *testing.T) {
	Shows(t, "N15")
	t.Parallel()
	for name, stuck := range map[string]bool{"at once": false, "after an ordinary one": true} {
		t.Run(name, func(t *testing.T) {
			_, in, shoot := clusters(t)
			p := newControlPlane(t, in, shoot, newNamespace())
			p.wants("monitoring", "on")
			p.deploys()
			p.ready()
			p.manager.stop()
			if stuck {
				p.Expect(p.gardenlet.Delete(t.Context())).To(Succeed())
				p.becomes("Delete", "Processing")
			}
			p.cluster(func(s *corev1beta1.Shoot) {
				s.Annotations = map[string]string{"confirmation.gardener.cloud/force-deletion": "true"}
			})
			p.observer.forget()
			p.Expect(p.gardenlet.Delete(t.Context())).To(Succeed())
			p.Expect(p.gardenlet.WaitGone(t.Context())).To(Succeed())
			p.Expect(p.gardenlet.CleanUp(t.Context())).To(Succeed())
			left := &resourcesv1alpha1.ManagedResourceList{}
			p.Expect(in.client.List(t.Context(), left, client.InNamespace(p.namespace))).To(Succeed())
			for _, mr := range left.Items {
				p.Expect(mr.Spec.Class).NotTo(BeNil(), "of the shoot's class nothing is left: %s", mr.Name)
			}
		})
	}
}

// A Network that fails, or has not come through yet, can be deleted and migrated.
func TestUnfinishedNetworksLeave(t *testing.T) {
	Shows(t, "N35")
	t.Parallel()
	for name, begin := range map[string]func(*controlPlane){
		"failing": func(p *controlPlane) { p.wants("mode", "unsupported"); p.deploys(); p.becomes("Create", "Error") },
		"under way": func(p *controlPlane) {
			release := p.resources.Hold()
			p.deploys()
			p.becomes("Create", "Processing")
			release()
		},
		"not begun": func(p *controlPlane) { p.trellis.stop(); p.deploys() },
		"asked for": func(p *controlPlane) { p.deploys() },
		"gone failing": func(p *controlPlane) {
			p.deploys()
			p.ready()
			p.wants("mode", "unsupported")
			p.deploys()
			p.becomes("Reconcile", "Error")
		},
	} {
		for verb, leave := range map[string]func(*controlPlane){"deleted": isDeleted, "migrated": func(p *controlPlane) {
			p.observer.forget()
			p.Expect(p.gardenlet.Migrate(p.t.Context())).To(Succeed())
			p.Expect(p.gardenlet.WaitMigrated(p.t.Context())).To(Succeed())
			isDeleted(p)
		}} {
			t.Run(name+" "+verb, func(t *testing.T) {
				_, in, shoot := clusters(t)
				p := newControlPlane(t, in, shoot, newNamespace())
				begin(p)
				if name == "not begun" {
					p.start()
				}
				leave(p)
				p.Expect(p.managed()).To(BeEmpty())
			})
		}
	}
}

// managed are the names of the ManagedResources.
func (p *controlPlane) managed() []string {
	list := &resourcesv1alpha1.ManagedResourceList{}
	p.Expect(p.seed.client.List(context.Background(), list, client.InNamespace(p.namespace))).To(Succeed())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}
