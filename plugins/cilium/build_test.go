// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
	"github.com/trellis-network/trellis/test/built"
)

const podCIDR, podCIDR6, nodeCIDR = built.PodCIDR, built.PodCIDR6, built.NodeCIDR

type option = built.Option

// network is a network that was built.
type network struct{ *built.Network }

var networks = built.By[*network]{New: cilium.New, As: func(n *built.Network) *network { return &network{n} }}

var (
	requestFor, tryRequest    = networks.Request, networks.TryRequest
	try, build, changed, then = networks.Try, networks.Build, networks.Changed, networks.Then

	ipv6Only, dualStack = built.IPv6Only, built.DualStack

	names, pairs, shown, inventory = built.Names, built.Pairs, built.Shown, built.Inventory
	envOf, portsOf, probe          = built.Env, built.Ports, built.Probe
	access, mountsOf, volumesOf    = built.Access, built.Mounts, built.Volumes
	requested, pick                = built.Requested, built.Container
)

// migrating is a network of IPv4 on its way to dual-stack, of whose IPv6 range the Shoot
// says nothing yet.
func migrating(facts *plugin.Input) {
	built.Migrating(facts)
	facts.PodCIDRs = []string{podCIDR}
}

// withoutKubeProxy is a Shoot without kube-proxy, whose API server has an address.
func withoutKubeProxy(facts *plugin.Input) {
	facts.KubeProxy = plugin.KubeProxy{}
	facts.APIServer.ExternalHost = "api.one.test.example.com"
}

func withIPVS(facts *plugin.Input) {
	facts.KubeProxy = plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPVS}
}

func withNodeLocalDNS(facts *plugin.Input) { facts.NodeLocalDNS = true }

func withClusterPool(facts *plugin.Input) { facts.IPAM = "cluster-pool" }

// standalone is a cluster without Gardener.
func standalone(facts *plugin.Input) {
	facts.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
}

func withNodes(atLeast int32) option {
	return func(facts *plugin.Input) { facts.NodesAtLeast = atLeast }
}

// need returns the object of that type and name, and fails without it.
func need[T plugin.Object](n *network, name string) T { n.T.Helper(); return built.Need[T](n, name) }

func (n *network) data(configMap string) map[string]string {
	n.T.Helper()
	return need[*corev1.ConfigMap](n, configMap).Data
}

func (n *network) agent() *appsv1.DaemonSet {
	n.T.Helper()
	return need[*appsv1.DaemonSet](n, "cilium")
}

// container returns a container of the agent's pods.
func (n *network) container(name string) corev1.Container {
	n.T.Helper()
	return pick(n.T, n.agent().Spec.Template.Spec, name)
}

func (n *network) operator() *appsv1.Deployment {
	n.T.Helper()
	return need[*appsv1.Deployment](n, "cilium-operator")
}

func (n *network) envoy() *appsv1.DaemonSet {
	n.T.Helper()
	return need[*appsv1.DaemonSet](n, "cilium-envoy")
}

// templates are the pod templates of all workloads, by kind and name.
func (n *network) templates() map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, object := range n.Objects.In(bundleName) {
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			all[shown(object)] = workload.Spec.Template
		case *appsv1.Deployment:
			all[shown(object)] = workload.Spec.Template
		case *batchv1.Job:
			all[shown(object)] = workload.Spec.Template
		case *batchv1.CronJob:
			all[shown(object)] = workload.Spec.JobTemplate.Spec.Template
		}
	}
	return all
}

// decode reads a JSON document.
func decode(t *testing.T, document string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%s\nis no JSON: %v", document, err)
	}
}
