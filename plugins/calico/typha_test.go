// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func typhaContainer(n *network) corev1.Container {
	n.T.Helper()
	return need[*appsv1.Deployment](n, "calico-typha-deploy").Spec.Template.Spec.Containers[0]
}

func TestTyphaIsThereUnlessSwitchedOff(t *testing.T) {
	for config, want := range map[string]bool{
		"":                        true,
		"typha: {enabled: true}":  true,
		"typha: {enabled: false}": false,
		"typha: {}":               false,
	} {
		t.Run(config, func(t *testing.T) {
			g := NewWithT(t)
			n := build(t, config)
			service := "none"
			if want {
				service = "calico-typha"
			}
			g.Expect(n.data("calico-config")["typha_service_name"]).To(Equal(service))
			for name, kinds := range map[string][]string{
				"calico-typha-deploy":                {"Deployment"},
				"calico-typha":                       {"Service", "ServiceAccount", "PodDisruptionBudget"},
				"calico-typha-horizontal-autoscaler": {"Deployment", "ConfigMap"},
				"typha-cpha":                         {"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
				"calico-typha-vertical-autoscaler":   {"Deployment", "ConfigMap"},
				"typha-cpva":                         {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"},
			} {
				for _, kind := range kinds {
					g.Expect(n.has(kind, name)).To(Equal(want), "%s %s", kind, name)
				}
			}
			var subjects []string
			for _, subject := range need[*rbacv1.ClusterRoleBinding](n, "calico-node").Subjects {
				subjects = append(subjects, subject.Name)
			}
			if want {
				g.Expect(subjects).To(Equal([]string{"calico-node", "calico-typha"}))
			} else {
				g.Expect(subjects).To(Equal([]string{"calico-node"}))
			}
		})
	}
}

func TestPolicyAndMetricsServiceStayWithoutTypha(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "typha: {enabled: false}")
	g.Expect(n.has("NetworkPolicy", "gardener.cloud--allow-from-calico-node")).To(BeTrue())
	g.Expect(n.has("Service", "calico-typha-monitoring")).To(BeTrue())
}

func TestTyphaShedsItsClientsInItsGracePeriod(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "")
	spec := need[*appsv1.Deployment](n, "calico-typha-deploy").Spec
	g.Expect(*spec.Template.Spec.TerminationGracePeriodSeconds).To(Equal(int64(300)))
	g.Expect(envOf(t, typhaContainer(n))).To(HaveKeyWithValue("TYPHA_SHUTDOWNTIMEOUTSECS", "300"))
	g.Expect(spec.Replicas).To(BeNil(), "the horizontal autoscaler owns it")
	g.Expect(spec.Strategy.RollingUpdate.MaxSurge.String()).To(Equal("100%"))
}
