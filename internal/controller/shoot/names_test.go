// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/test/harness"
)

func TestNamesThatMakeNoNamespaceAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ name, wanted string }{
		"too long": {strings.Repeat("x", 60), "must be no more than 63"},
		"a dot":    {"example.tree", "another name"},
	} {
		t.Run(name, func(t *testing.T) {
			e := setup(t)
			s := e.shoot(func(s *corev1beta1.Shoot) { s.Name = test.name })
			e.becomes(s, create, failing, "control-plane namespace would be called shoot--", test.wanted)
			e.Expect(s.Finalizers).To(BeEmpty(), "nothing was created that would have to be deleted")
			e.Expect(s.Status.TechnicalID).To(BeEmpty())
			e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
			e.gone(s)
		})
	}
}

// Otherwise b--c of the project a would have the control plane of c in the project a--b.
func TestNewShootsWithConsecutiveHyphensAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ field, project, name string }{
		"the Shoot's name":     {"metadata.name", "", "ex--ample"},
		"the namespace's name": {"metadata.namespace", "--ample", "example"},
	} {
		t.Run(name, func(t *testing.T) {
			e := project(t)
			if test.project != "" {
				e.project += test.project
				e.namespace(e.project, nil)
			}
			e.start()
			s := e.shoot(func(s *corev1beta1.Shoot) { s.Name = test.name })
			e.becomes(s, create, failing, test.field, "has two consecutive hyphens", "single hyphens only")
			e.Expect(s.Finalizers).To(BeEmpty(), "nothing was created that would have to be deleted")
			e.Expect(s.Status.TechnicalID).To(BeEmpty())
			e.Expect(s.Status.Constraints).To(BeEmpty())
		})
	}
}

// What is applied is never rejected later.
func TestAShootWithConsecutiveHyphensThatHasAControlPlaneIsWarned(t *testing.T) {
	e := project(t)
	s := e.shoot(func(s *corev1beta1.Shoot) { s.Name, s.Spec.Provider.Workers = "ex--ample", nil })
	harness.ChangeStatus(t, e.client, s, func(s *corev1beta1.Shoot) { s.Status.TechnicalID = e.controlPlane })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Name + ".kubeconfig", Namespace: e.project}, Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)}}
	e.Expect(e.client.Create(t.Context(), secret)).To(Succeed())
	e.start()
	e.applied()
	e.becomes(s, create, succeeded)
	e.Expect(s.Status.Constraints).To(HaveLen(1))
	e.Expect(s.Status.Constraints[0].Message).To(HavePrefix("metadata.name: ex--ample has two consecutive hyphens"))
	e.stays(s)
}

// garden-x/example and x/example would share a namespace: the first has it.
func TestTwoShootsNeverShareAControlPlane(t *testing.T) {
	e := setup(t)
	first := e.finished()
	e.namespace(e.twin(), nil)
	second := e.shoot(func(s *corev1beta1.Shoot) { s.Namespace = e.twin() })
	e.becomes(second, create, failing, e.controlPlane+" belongs to the Shoot "+e.project+"/example already")
	e.Expect(second.Status.Conditions).To(BeEmpty())

	e.Expect(e.client.Delete(t.Context(), second)).To(Succeed())
	e.gone(second)
	e.get(first)
	e.stays(first)
	e.get(e.network())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}
	e.get(namespace)
	e.Expect(namespace.DeletionTimestamp).To(BeNil())
}

func TestANamespaceWithoutOwnerIsNotTakenOver(t *testing.T) {
	e := project(t)
	e.namespace(e.controlPlane, nil)
	e.start()
	e.kubeconfig(kubeconfig)
	s := e.shoot()
	e.becomes(s, create, failing, "exists already and belongs to no Shoot", shoot.ShootAnnotation)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.controlPlane}}
	patch(e, namespace, func(n *corev1.Namespace) {
		n.Annotations = map[string]string{shoot.ShootAnnotation: e.project + "/example"}
	})
	e.becomes(s, create, processing, "Waiting until the Network")
}
