// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/trellis-network/trellis/config"
)

// The rights that the chart gives are those of config/rbac, which test/installed compares with the
// requests of an operator, and which the operators of tests and of make demo have. What only some
// configurations need comes with them only.
func TestAnOperatorGetsTheRightsThatItsConfigurationNeeds(t *testing.T) {
	const templated = "config: {controlPlane: {kubeControllerManager: [{provider: aws, cloudConfigTemplate: a}, {provider: gcp, cloudConfigTemplate: b}]}}"
	for values, folders := range map[string][]string{
		"mode: gardener":   {"gardener"},
		"mode: standalone": {"standalone"},
		"config: {webhooks: {networks: true, url: 'https://example.org'}}":     {"gardener", "networks"},
		"config: {controlPlane: {kubeControllerManager: [{provider: local}]}}": {"gardener", "controlplane"},
		templated: {"gardener", "controlplane", "cloudconfigtemplate"},
		"{mode: standalone, config: {infrastructures: [aws]}}":                   {"standalone", "infrastructure"},
		"{mode: standalone, config: {infrastructures: [aws, local]}}":            {"standalone", "infrastructure", "local"},
		"{mode: standalone, config: {infrastructures: [], webhooks: {url: ''}}}": {"standalone"},
		"{mode: standalone, config: {webhooks: {networks: true}}}":               {"standalone", "networks"},
		"{mode: standalone, rights: [infrastructure]}":                           {"standalone", "infrastructure"},
	} {
		t.Run(values, func(t *testing.T) {
			g := NewWithT(t)
			objects := release{chart: "trellis-operator", name: "trellis", namespace: "extension-trellis", values: values}.render(t)
			var expected []rbacv1.PolicyRule
			for _, folder := range folders {
				expected = append(expected, rules(g, "rbac/"+folder+"/operator.yaml")...)
			}
			role := find[rbacv1.ClusterRole](t, objects, "ClusterRole")
			g.Expect(role.Rules).To(ConsistOf(expected))
			g.Expect(find[rbacv1.Role](t, objects, "Role").Rules).To(Equal(rules(g, "rbac/"+folders[0]+"/namespace.yaml")))

			account := rbacv1.Subject{Kind: "ServiceAccount", Namespace: "extension-trellis", Name: "trellis-operator"}
			binding := find[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding")
			g.Expect(binding.RoleRef.Name).To(Equal(role.Name))
			g.Expect(binding.Subjects).To(Equal([]rbacv1.Subject{account}))
			g.Expect(find[rbacv1.RoleBinding](t, objects, "RoleBinding").Subjects).To(Equal([]rbacv1.Subject{account}))
		})
	}
}

// Whom the garden knows trellis-admission as depends on how it authenticates.
func TestTheAdmissionHasItsRightsUnderItsNameInTheGarden(t *testing.T) {
	for name, subject := range map[string]rbacv1.Subject{
		"the admission's rights":                      {Kind: "ServiceAccount", Namespace: "garden", Name: "trellis-admission"},
		"the admission's rights in a virtual garden":  {Kind: "ServiceAccount", Namespace: "garden", Name: "trellis-admission"},
		"the admission's rights of a user":            {APIGroup: rbacv1.GroupName, Kind: "User", Name: "trellis"},
		"the admission's rights by Gardener operator": {Kind: "ServiceAccount", Namespace: "kube-system", Name: "extension-admission-trellis"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			release := releases[name]
			release.namespace = "garden"
			objects := release.render(t)
			g.Expect(find[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding").Subjects).To(Equal([]rbacv1.Subject{subject}))
			g.Expect(find[rbacv1.ClusterRole](t, objects, "ClusterRole").Rules).To(Equal(rules(g, "rbac/admission/garden.yaml")))
		})
	}
}

func rules(g *WithT, file string) []rbacv1.PolicyRule {
	document, err := config.Manifests.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(document, role)).To(Succeed())
	return role.Rules
}
