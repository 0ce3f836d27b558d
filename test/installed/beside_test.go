// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
)

// pluginsOf returns the plugins of these types.
func pluginsOf(types ...string) []plugin.Plugin {
	return slices.DeleteFunc(plugins.All(), func(p plugin.Plugin) bool { return !slices.Contains(types, p.Type) })
}

// roleInTheGuide returns the Role that the guide gives to another operator, with this name.
func roleInTheGuide(g *WithT, name string) *rbacv1.Role {
	guide, err := os.ReadFile("../../docs/write-a-plugin.md")
	g.Expect(err).NotTo(HaveOccurred())
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(guide)
	g.Expect(blocks).To(HaveLen(2))
	role := &rbacv1.Role{}
	g.Expect(yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(blocks[1]), "gardenet", name)), role)).To(Succeed())
	return role
}

// besideEachOther returns two operators without Gardener: ours for networks of the type calico and, in
// another's name, one for flannel. They have one namespace. The other one has no mode, and detects it.
func besideEachOther(t *testing.T, own, other string) (ours, theirs *installed, role *rbacv1.Role) {
	t.Helper()
	seed := landscape.Seed(t)
	ours = newInstalled(t, seed, own, "mode: standalone", pluginsOf("calico"))
	user := "user-" + other
	theirs = &installed{
		WithT: ours.WithT, t: t, seed: seed, user: user, namespace: own, values: ours.values, granted: sets.New[harness.Right](),
		usage: seed.NewUsage(t, user, own), options: operator.Options{Plugins: pluginsOf("flannel"), Name: other},
		edit: func(c *configv1alpha1.OperatorConfiguration) { c.Mode = "" },
	}
	role = theirs.mayAsInTheGuide()
	ours.Expect(install.OptionalRights(t.Context(), seed, "detection", theirs.user)).To(Succeed())
	return ours, theirs, role
}

// mayAsInTheGuide gives the user of an operator with another name its rights, and returns those in its
// namespace.
func (o *installed) mayAsInTheGuide() *rbacv1.Role {
	o.t.Helper()
	role := roleInTheGuide(o.WithT, o.options.Name)
	role.Namespace = o.namespace
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: o.user}}
	o.create(role,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: role.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "trellis-operator:" + o.namespace},
		})
	return role
}

// leads expects that one process has had the Lease of an operator.
func (o *installed) leads(name string) {
	o.t.Helper()
	lease := &coordinationv1.Lease{}
	o.Expect(o.seed.Get(o.t.Context(), client.ObjectKey{Namespace: o.namespace, Name: name}, lease)).To(Succeed())
	o.Expect(ptr.Deref(lease.Spec.LeaseTransitions, 0)).To(BeZero(), "one process has had it")
}

// Two operators in one namespace each elect a leader, and each reconciles the Shoots of its own
// types.
func TestOperatorsBesideEachOther(t *testing.T) {
	const own, other = "trellis-operators", "beside"
	ours, theirs, role := besideEachOther(t, own, other)
	seed, g := ours.seed, ours.WithT
	ours.start()
	theirs.start()
	first, second := shootOf("first", "calico"), shootOf("second", "flannel")
	ours.create(first, second)
	ours.succeeds(first)
	theirs.succeeds(second)
	ours.delete(first)
	theirs.delete(second)
	ours.stop()
	theirs.stop()

	g.Expect(slices.Concat(ours.usage.Refused(), theirs.usage.Refused())).To(BeEmpty())
	g.Expect(ours.usage.Written("shoot--dev--second")).To(BeEmpty())
	g.Expect(theirs.usage.Written("shoot--dev--first")).To(BeEmpty())
	g.Eventually(func() []string {
		return theirs.usage.Unused(sets.New(harness.Right{
			Verb: "get", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "shoots.core.gardener.cloud",
		}))
	}).Should(BeEmpty())
	g.Eventually(func() []string { return theirs.usage.Unused(harness.OwnRights(harness.RightsOf(role.Rules))) }).Should(ConsistOf(
		"patch leases.coordination.k8s.io gardener-extension-heartbeat in its own namespace"), "only a landscape has the heartbeat")
	for _, name := range []string{"trellis-operator", other} {
		ours.leads(name)
		certificates := &corev1.Secret{}
		g.Expect(seed.Get(t.Context(), client.ObjectKey{Namespace: own, Name: strings.TrimSuffix(name, "-operator") + "-webhooks"}, certificates)).To(Succeed())
	}
}
