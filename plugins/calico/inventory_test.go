// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/test/built"
)

func TestInventoryOfADefaultNetwork(t *testing.T) {
	g := NewWithT(t)
	var got []string
	for _, object := range build(t, "").Objects.For(plugin.Shoot) {
		if _, definition := object.(*apiextensionsv1.CustomResourceDefinition); !definition {
			got = append(got, built.Shown(object))
		}
	}
	g.Expect(got).To(ConsistOf(
		"ConfigMap calico-config", "DaemonSet calico-node",
		"ServiceAccount calico-node", "ClusterRole calico-node", "ClusterRoleBinding calico-node",
		"ServiceAccount calico-cni-plugin", "ClusterRole calico-cni-plugin", "ClusterRoleBinding calico-cni-plugin",
		"ClusterRole calico-tier-getter", "ClusterRoleBinding calico-tier-getter",
		"Service calico-felix-monitoring", "Service calico-typha-monitoring",
		"NetworkPolicy gardener.cloud--allow-from-calico-node",
		"Deployment calico-kube-controllers", "ServiceAccount calico-kube-controllers", "ClusterRole calico-kube-controllers",
		"ClusterRoleBinding calico-kube-controllers", "PodDisruptionBudget calico-kube-controllers",
		"Deployment calico-typha-deploy", "Service calico-typha", "ServiceAccount calico-typha", "PodDisruptionBudget calico-typha",
		"Deployment calico-typha-horizontal-autoscaler", "ConfigMap calico-typha-horizontal-autoscaler",
		"ServiceAccount typha-cpha", "Role typha-cpha", "RoleBinding typha-cpha", "ClusterRole typha-cpha", "ClusterRoleBinding typha-cpha",
		"Deployment calico-typha-vertical-autoscaler", "ConfigMap calico-typha-vertical-autoscaler",
		"ServiceAccount typha-cpva", "ClusterRole typha-cpva", "ClusterRoleBinding typha-cpva",
		"Deployment calico-node-vertical-autoscaler", "ConfigMap calico-node-vertical-autoscaler",
		"ServiceAccount calico-node-cpva", "ClusterRole calico-node-cpva", "ClusterRoleBinding calico-node-cpva",
	))
}

func TestComponentsAreTheWorkloadsWhoseHealthIsReported(t *testing.T) {
	g := NewWithT(t)
	g.Expect(build(t, "").Objects.Components).To(Equal([]plugin.Component{
		{Name: "calicoNodes", Kind: "DaemonSet", Workload: "calico-node", Namespace: "kube-system"},
		{Name: "kubeControllers", Kind: "Deployment", Workload: "calico-kube-controllers", Namespace: "kube-system"},
		{Name: "typha", Kind: "Deployment", Workload: "calico-typha-deploy", Namespace: "kube-system"},
	}))
	g.Expect(build(t, "{overlay: {enabled: false}, typha: {enabled: false}}").Objects.Components).To(HaveLen(1))
}

func TestDescriptionIsWireCompatible(t *testing.T) {
	g := NewWithT(t)
	p := calico.New()
	g.Expect(p.Type).To(Equal("calico"))
	g.Expect(p.Adopts).To(HaveLen(1))
	g.Expect(p.Adopts[0].Name).To(Equal("extension-networking-calico-config"))
	g.Expect(p.Origin).To(Equal("extension-networking-calico"))
	g.Expect(p.ConfigVersions).To(Equal([]schema.GroupVersion{
		{Group: "calico.networking.extensions.gardener.cloud", Version: "v1alpha1"},
		{Group: "calico.extensions.gardener.cloud", Version: "v1alpha1"},
	}))
}

func TestImagesCanBeReplaced(t *testing.T) {
	g := NewWithT(t)
	n := build(t, "", func(f *plugin.Input) { f.Images = map[string]string{"calico-node": "mirror.example.com/node:v1"} })
	for _, name := range []string{"calico-node", "log-mtu-issues", "network-unavailable-condition-ensurer"} {
		g.Expect(n.container(name).Image).To(Equal("mirror.example.com/node:v1"))
	}
	g.Expect(n.container("install-cni").Image).To(Equal("quay.io/calico/cni:v3.31.6"))
}

func TestPodsGetTheirTokenFromOutside(t *testing.T) {
	for _, object := range build(t, "").Objects.For(plugin.Shoot) {
		if account, ok := object.(*corev1.ServiceAccount); ok {
			NewWithT(t).Expect(*account.AutomountServiceAccountToken).To(BeFalse(), account.Name)
		}
	}
}

func TestEveryWorkloadMeetsTheNetworkPoliciesOfKubeSystem(t *testing.T) {
	g := NewWithT(t)
	for _, object := range build(t, "").Objects.For(plugin.Shoot) {
		var template corev1.PodTemplateSpec
		var selector map[string]string
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			template, selector = workload.Spec.Template, workload.Spec.Selector.MatchLabels
		case *appsv1.Deployment:
			template, selector = workload.Spec.Template, workload.Spec.Selector.MatchLabels
		default:
			continue
		}
		g.Expect(template.Spec.PriorityClassName).NotTo(BeEmpty(), object.GetName())
		for name, value := range selector {
			g.Expect(template.Labels).To(HaveKeyWithValue(name, value), object.GetName())
		}
		for _, target := range []string{"to-apiserver", "to-dns", "to-public-networks"} {
			g.Expect(template.Labels).To(HaveKeyWithValue("networking.gardener.cloud/"+target, "allowed"), object.GetName())
		}
		for _, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
			g.Expect(container.Image).NotTo(BeEmpty(), "%s of %s", container.Name, object.GetName())
		}
	}
}

func TestEveryBindingHasItsRoleAndEveryPodItsAccount(t *testing.T) {
	g := NewWithT(t)
	for _, each := range matrix {
		n := each.build(t)
		for _, object := range n.Objects.For(plugin.Shoot) {
			switch typed := object.(type) {
			case *rbacv1.ClusterRoleBinding:
				g.Expect(n.has("ClusterRole", typed.RoleRef.Name)).To(BeTrue(), typed.Name)
				for _, subject := range typed.Subjects {
					g.Expect(subject.Kind == "User" || n.has("ServiceAccount", subject.Name)).To(BeTrue(), "%s in %s", subject.Name, typed.Name)
				}
			case *appsv1.Deployment:
				g.Expect(n.has("ServiceAccount", typed.Spec.Template.Spec.ServiceAccountName)).To(BeTrue(), typed.Name)
			}
		}
	}
}

func TestObjectsStateNothingEmpty(t *testing.T) {
	g := NewWithT(t)
	written := built.Documents(t, build(t, "overlay: {enabled: false}").Objects.For(plugin.Shoot))
	for _, leftover := range []string{`"creationTimestamp"`, `:null`} {
		g.Expect(strings.Contains(written, leftover)).To(BeFalse(), leftover)
	}
}
