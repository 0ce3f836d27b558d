// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
	"github.com/trellis-network/trellis/test/exampleplugin"
	"github.com/trellis-network/trellis/test/harness"
)

// exchanged is a network of a type whose place one of another type can take. Its agents have its name.
type exchanged struct {
	exampleplugin.Example[exampleConfig]
	name  string
	kinds []schema.GroupVersionKind
}

func (x exchanged) Describe() plugin.Description {
	description := x.Example.Describe()
	description.Type = x.name
	description.Images = plugin.ParseImages([]byte(`[{name: agent, repository: example.org/agent, tag: v1}]`))
	return description
}

func (x exchanged) Render(*exampleConfig, *plugin.Input) (plugin.Objects, error) {
	agents := &appsv1.DaemonSet{TypeMeta: system.TypeMeta("apps/v1", "DaemonSet"), ObjectMeta: system.Named(x.name, nil)}
	components := []plugin.Component{{Name: x.name, Kind: "DaemonSet", Namespace: metav1.NamespaceSystem, Workload: x.name}}
	return plugin.NewObjects(components, plugin.NetworkBundle(x.name+"-config", []plugin.Object{agents})), nil
}

func (x exchanged) Exchange(effective *exampleConfig, _ *plugin.Input, path *field.Path) plugin.Exchange {
	exchange := plugin.Exchange{Kinds: x.kinds, Remnants: plugin.Remnants{Image: "agent", Interfaces: []string{x.name + "0"}}}
	if effective.Backend == "overlay" {
		exchange.Obstacles = field.ErrorList{field.Forbidden(path.Child("backend"), "must not be overlay while the type changes")}
	}
	return exchange
}

// routing is one that first routes natively, in steps.
type routing struct{ exchanged }

func (routing) RouteNatively(written *exampleConfig) { written.Backend = "some" }

func (routing) Transition(before, after plugin.State[exampleConfig]) []plugin.Step[exampleConfig] {
	return steppingPlugin{}.Transition(before, after)
}

func (routing) Classify(change plugin.Change[exampleConfig]) (plugin.ChangeClass, string) {
	return steppingPlugin{}.Classify(change)
}

// typed starts the controller with networks of several types, one of which the test's shoot has, and one node. That
// network acts on objects of kinds of its own.
func typed(t *testing.T, kinds ...schema.GroupVersionKind) (e *env, n *extensionsv1alpha1.Network, node *corev1.Node) {
	return typedAs(t, "tin", "", func(options *network.Options) { options.Pipeline = withTypes(t, kinds) })
}

func withTypes(t *testing.T, kinds []schema.GroupVersionKind) *pipeline.Pipeline {
	built, err := pipeline.New([]plugin.Plugin{
		plugin.New(exchanged{name: "tin", kinds: kinds}), plugin.New(exchanged{name: "zinc"}), plugin.New(exchanged{name: "lead"}),
		plugin.New(routing{exchanged{name: "iron", kinds: kinds}}),
	}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return built
}

func typedAs(t *testing.T, networkType, config string, change func(*network.Options)) (e *env, n *extensionsv1alpha1.Network, node *corev1.Node) {
	e = setup(t, change)
	e.withShoot()
	node = e.node("")
	n = e.network(func(n *extensionsv1alpha1.Network) {
		n.Spec.Type = networkType
		if config != "" {
			withConfig(config)(n)
		}
	})
	e.appliesAll(networkType + "-config")
	e.becomes(n, create, fine)
	return e, n, node
}

// appliesAll plays the resource manager for ManagedResources of these names as they are now.
func (e *env) appliesAll(names ...string) {
	e.t.Helper()
	for _, name := range names {
		e.Eventually(func() error {
			mr := &resourcesv1alpha1.ManagedResource{}
			if err := e.client.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: name}, mr); err != nil {
				return err
			}
			before := mr.DeepCopy()
			harness.Applied(mr)
			return e.client.Status().Patch(e.t.Context(), mr, client.MergeFrom(before))
		}).Should(Succeed(), name)
	}
}

func changingTo(networkType string, allowed string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) {
		n.Spec.Type = networkType
		n.Annotations = map[string]string{extensionsv1alpha1.ChangeTypeAnnotation: allowed}
	}
}

func (e *env) exchange(n *extensionsv1alpha1.Network) *state.Exchange {
	e.get(n)
	kept, err := state.Decode(n.Status.State)
	e.Expect(err).NotTo(HaveOccurred())
	return kept.Exchange
}

// pod makes a ready pod of a DaemonSet on the node.
func (e *env) pod(daemonSet string, node *corev1.Node) {
	e.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, GenerateName: daemonSet + "-", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "example.org/v1", Kind: "DaemonSet", Name: daemonSet, UID: "1", Controller: new(true), // which no garbage collector knows
		}}},
		Spec: corev1.PodSpec{
			NodeName: node.Name, HostNetwork: true, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
		},
	}
	e.Expect(e.client.Create(e.t.Context(), pod)).To(Succeed())
	e.t.Cleanup(func() { _ = e.client.Delete(context.Background(), pod) })
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	e.Expect(e.client.Status().Update(e.t.Context(), pod)).To(Succeed())
}

// at returns the step of a node, and its label.
func (e *env) at(node *corev1.Node) func() string {
	return func() string {
		e.get(node)
		text := node.Annotations[extensionsv1alpha1.ExchangeAnnotation]
		return text[:min(len(text), 8)] + "/" + node.Labels[extensionsv1alpha1.TypeLabel]
	}
}

func TestATypeChangesOnlyIfAUserAllowsIt(t *testing.T) {
	e, n, _ := typed(t)
	e.patch(n, changingTo("zinc", "false"))
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring(
		"cannot change from tin to zinc in a running network: write tin again, or set the annotation trellis.network/change-type to true"))
	e.patch(n, func(n *extensionsv1alpha1.Network) {
		changingTo("zinc", "true")(n)
		withConfig(`{"backend":"overlay"}`)(n)
	})
	e.Eventually(func() string { e.get(n); return n.Status.LastError.Description }).Should(ContainSubstring("spec.providerConfig.backend: Forbidden: must not be overlay while the type changes"))
	e.Expect(e.exchange(n)).To(BeNil())
	mr := &resourcesv1alpha1.ManagedResource{}
	e.Expect(apierrors.IsNotFound(e.client.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "zinc-config"}, mr))).To(BeTrue(), "nothing is written")
}

// A process that ends at any time, and a user who turns back, leave nothing behind.
func TestATypeChangesNodeByNodeAndBack(t *testing.T) {
	e, n, node := typed(t)
	e.pod("tin", node)
	e.patch(n, changingTo("zinc", "true"))
	e.appliesAll(pipeline.CleanerBundle, "zinc-config", "tin-config") // it is written last
	e.Eventually(e.at(node)).Should(Equal("Cleaning/none"), "no pod had to leave")
	e.Expect(node.Spec.Unschedulable).To(BeTrue())
	e.Eventually(func() string { return e.exchange(n).WaitsFor }).Should(Equal("node " + node.Name + ": the agents of the former network end"))
	e.restart()
	e.Expect(e.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(metav1.NamespaceSystem), client.MatchingFields{"spec.nodeName": node.Name})).To(Succeed())
	e.Eventually(func() string { return e.exchange(n).WaitsFor }).Should(Equal("node " + node.Name + ": what the former network has left behind is cleaned up"))

	e.patch(n, changingTo("lead", "true"))
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring("nodes are changing from tin to zinc: write one of these two"))

	e.patch(n, changingTo("tin", "true"))
	e.pod(pipeline.CleanerName, node)
	e.Eventually(e.at(node)).Should(Equal("Joining /"))
	e.Eventually(func() string { return e.exchange(n).WaitsFor }).Should(Equal("node " + node.Name + ": the cleaner ends"))
	e.Expect(e.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(metav1.NamespaceSystem), client.MatchingFields{"spec.nodeName": node.Name})).To(Succeed())
	e.pod("tin", node)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	e.Expect(e.client.Status().Update(t.Context(), node)).To(Succeed())
	e.Eventually(e.at(node)).WithTimeout(2 * time.Minute).Should(Equal("/"))
	e.Expect(node.Spec.Unschedulable).To(BeFalse())

	e.Eventually(func() bool {
		e.appliesAll("tin-config") // without what kept its agents to some nodes
		return e.exchange(n) == nil
	}).Should(BeTrue())
	for _, gone := range []string{"zinc-config", pipeline.CleanerBundle} {
		e.Eventually(func() bool {
			mr := &resourcesv1alpha1.ManagedResource{}
			err := e.client.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: gone}, mr)
			return apierrors.IsNotFound(err) || err == nil && !mr.DeletionTimestamp.IsZero()
		}).Should(BeTrue(), gone)
	}
}

// A policy that silently has no effect any more is worse than a type that does not change.
func TestATypeStaysWhileUsersHaveObjectsThatOnlyItsNetworksActOn(t *testing.T) {
	e, n, _ := typed(t, schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Unknown"}, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	policy := func(name string, labels map[string]string) *networkingv1.NetworkPolicy {
		made := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name, Labels: labels}}
		e.Expect(e.client.Create(t.Context(), made)).To(Succeed())
		t.Cleanup(func() { _ = e.client.Delete(context.Background(), made) })
		return made
	}
	policy("managed", map[string]string{resourcesv1alpha1.ManagedBy: "trellis"})
	users := policy("users", nil)
	e.patch(n, changingTo("zinc", "true"))
	e.becomes(n, again, erroneous)
	e.Expect(n.Status.LastError.Description).To(ContainSubstring(
		"the type of the network is not changed while the cluster has the NetworkPolicy " + e.namespace + "/users of the group networking.k8s.io, which would have no effect any more: delete it, or write type tin again"))
	err := e.client.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "zinc-config"}, &resourcesv1alpha1.ManagedResource{})
	e.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "nothing of the other network was written: %v", err)

	e.Expect(e.client.Delete(t.Context(), users)).To(Succeed())
	e.appliesAll("zinc-config", "tin-config", pipeline.CleanerBundle)
	e.Eventually(func() *state.Exchange { return e.exchange(n) }).ShouldNot(BeNil())
}
