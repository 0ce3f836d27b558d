// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
	"github.com/trellis-network/trellis/test/built"
)

const podCIDR, podCIDR6, nodeCIDR = built.PodCIDR, built.PodCIDR6, built.NodeCIDR

type option = built.Option

// network is a network that was built.
type network struct{ *built.Network }

var networks = built.By[*network]{New: calico.New, As: func(n *built.Network) *network { return &network{n} }}

var (
	requestFor, tryRequest    = networks.Request, networks.TryRequest
	try, build, changed, then = networks.Try, networks.Build, networks.Changed, networks.Then

	ipv6Only, dualStack, migrating = built.IPv6Only, built.DualStack, built.Migrating

	envOf, names, pairs, ports, probe = built.Env, built.Names, built.Pairs, built.Ports, built.Probe
	access, mountsOf, volumesOf       = built.Access, built.Mounts, built.Volumes
)

// need returns the object of that type and name, and fails without it.
func need[T plugin.Object](n *network, name string) T { n.T.Helper(); return built.Need[T](n, name) }

// has reports whether there is an object of that kind and name.
func (n *network) has(kind, name string) bool {
	return slices.Contains(built.Inventory(n.Objects.For(plugin.Shoot)), kind+" "+name)
}

func (n *network) node() *appsv1.DaemonSet {
	n.T.Helper()
	return need[*appsv1.DaemonSet](n, "calico-node")
}

func (n *network) data(configMap string) map[string]string {
	n.T.Helper()
	return need[*corev1.ConfigMap](n, configMap).Data
}

// container returns a container of calico-node.
func (n *network) container(name string) corev1.Container {
	n.T.Helper()
	return built.Container(n.T, n.node().Spec.Template.Spec, name)
}

// env returns the variables of a container of calico-node, and fails if one is there
// twice.
func (n *network) env(container string) map[string]string {
	n.T.Helper()
	return built.Env(n.T, n.container(container))
}
