// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trellis-network/trellis/plugin"
)

// daemonSet has pods with these labels, of which so many of two are available.
func daemonSet(namespace, name string, pods map[string]string, available int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: pods}},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: available},
	}
}

// Services rely on kube-proxy, which is of others: the condition about the network stays as it is.
func TestKubeProxyIsToldBesideTheNetwork(t *testing.T) {
	kubernetes, other := map[string]string{"k8s-app": "kube-proxy"}, map[string]string{"k8s-app": "other"}
	pool := func(name string) map[string]string {
		return map[string]string{"app": "kubernetes", "role": "proxy", "pool": name}
	}
	agents := plugin.Component{Name: "nodes", Kind: "DaemonSet"}
	for name, test := range map[string]struct {
		cached     []client.Object
		components []plugin.Component
		told       map[string]bool
		more       string
	}{
		"it runs": {
			[]client.Object{daemonSet("kube-system", "kube-proxy", kubernetes, 2)},
			[]plugin.Component{agents}, map[string]bool{"kube-proxy": true}, ""},
		"a pod of it does not": {
			[]client.Object{daemonSet("kube-system", "kube-proxy", kubernetes, 1)},
			[]plugin.Component{agents}, map[string]bool{"kube-proxy": false},
			"; kube-proxy, which is not part of the network: 1 of 2 pods of the DaemonSet kube-system/kube-proxy are available"},
		"of Gardener's pools all run": {
			[]client.Object{daemonSet("kube-system", "kube-proxy-a", pool("a"), 2), daemonSet("kube-system", "kube-proxy-b", pool("b"), 2)},
			[]plugin.Component{agents}, map[string]bool{"kube-proxy": true}, ""},
		"two of Gardener's pools do not": {
			[]client.Object{daemonSet("kube-system", "kube-proxy-c", pool("c"), 0), daemonSet("kube-system", "kube-proxy-b", pool("b"), 1), daemonSet("kube-system", "kube-proxy-a", pool("a"), 2)},
			[]plugin.Component{agents}, map[string]bool{"kube-proxy": false},
			"; kube-proxy, which is not part of the network: 1 of 2 pods of the DaemonSet kube-system/kube-proxy-b are available"},
		"others' pods": {
			[]client.Object{daemonSet("kube-system", "other", other, 1), daemonSet("default", "kube-proxy", kubernetes, 1)},
			[]plugin.Component{agents}, map[string]bool{}, ""},
		"DaemonSets are not watched": {
			[]client.Object{daemonSet("kube-system", "kube-proxy", kubernetes, 1)},
			[]plugin.Component{{Name: "controller", Kind: "Deployment"}}, map[string]bool{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			seen := observation{message: "All is well", components: map[string]bool{}}
			seen.addKubeProxy(t.Context(), fake.NewClientBuilder().WithObjects(test.cached...).Build(), test.components)
			g.Expect(seen.components).To(Equal(test.told))
			g.Expect(seen.message).To(Equal("All is well" + test.more))
			g.Expect(seen.result).To(Equal(healthy))
		})
	}
}

func TestAComponentOfTheNetworkIsNotTakenForAnothers(t *testing.T) {
	g := NewWithT(t)
	seen := observation{components: map[string]bool{"kube-proxy": false}}
	cached := fake.NewClientBuilder().WithObjects(daemonSet("kube-system", "kube-proxy", map[string]string{"k8s-app": "kube-proxy"}, 2)).Build()
	seen.addKubeProxy(t.Context(), cached, []plugin.Component{{Name: "kube-proxy", Kind: "DaemonSet"}})
	g.Expect(seen).To(Equal(observation{components: map[string]bool{"kube-proxy": false}}))
}
