// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
	"github.com/trellis-network/trellis/test/built"
)

const podCIDR = built.PodCIDR

type option = built.Option

// network is a network that was built.
type network struct{ *built.Network }

var networks = built.By[*network]{
	New: flannel.New,
	As:  func(n *built.Network) *network { return &network{n} },
}

var (
	try, build, changed, then = networks.Try, networks.Build, networks.Changed, networks.Then

	ipv6Only, dualStack, migrating = built.IPv6Only, built.DualStack, built.Migrating
	ipv6First                      = built.Families(extensionsv1alpha1.IPv6, extensionsv1alpha1.IPv4)
)

// need returns the object of that type and name, and fails without it.
func need[T plugin.Object](n *network, name string) T { n.T.Helper(); return built.Need[T](n, name) }

func (n *network) node() *appsv1.DaemonSet {
	n.T.Helper()
	return need[*appsv1.DaemonSet](n, "kube-flannel-ds")
}

func (n *network) setting(key string) string {
	n.T.Helper()
	return need[*corev1.ConfigMap](n, "kube-flannel-cfg").Data[key]
}

// container returns a container of the DaemonSet.
func (n *network) container(name string) corev1.Container {
	n.T.Helper()
	return built.Container(n.T, n.node().Spec.Template.Spec, name)
}
