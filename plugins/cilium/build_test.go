// SPDX-License-Identifier: Apache-2.0

package cilium_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/cilium"
)

// The ranges of the networks in these tests.
const (
	podCIDR     = "100.64.0.0/12"
	serviceCIDR = "100.96.0.0/13"
	nodeCIDR    = "10.250.0.0/16"
	podCIDR6    = "2001:db8:1::/56"
)

// option changes what is known of the cluster.
type option func(*plugin.Facts)

// network is a network that was built.
type network struct {
	t *testing.T
	pipeline.Result
}

// requestFor is a Request for a config written in YAML.
func requestFor(t *testing.T, config string, options ...option) pipeline.Request {
	t.Helper()
	request := pipeline.Request{
		Name: "network", Namespace: "shoot--test--one", Author: pipeline.AuthorNetwork,
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: cilium.Type},
			PodCIDR:     podCIDR, ServiceCIDR: serviceCIDR,
		},
		Facts: plugin.Facts{
			Namespace:  "shoot--test--one",
			NodeCIDR:   nodeCIDR,
			IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4},
			KubeProxy:  plugin.KubeProxy{Enabled: true},
			// Nobody else's pods are near, of which there would be a warning.
			Infrastructure: plugin.Infrastructure{OwnNetwork: true},
		},
	}
	if config != "" {
		request.Spec.ProviderConfig = &runtime.RawExtension{Raw: jsonOf(t, config)}
	}
	for _, change := range options {
		change(&request.Facts)
	}
	completeSpec(&request)
	return request
}

func jsonOf(t testing.TB, config string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(config))
	if err != nil {
		t.Fatalf("the test's config is not YAML: %v", err)
	}
	return raw
}

// completeSpec lets the Network say what the facts do.
func completeSpec(request *pipeline.Request) {
	facts := &request.Facts
	request.Spec.IPFamilies = facts.IPFamilies
	if len(facts.WantedIPFamilies) > 0 {
		request.Spec.IPFamilies = facts.WantedIPFamilies
	}
	if len(facts.IPFamilies) > 0 && !facts.HasIPFamily(extensionsv1alpha1.IPv4) {
		request.Spec.PodCIDR, request.Spec.ServiceCIDR = podCIDR6, "2001:db8:2::/112"
	}
}

// ipv6Only and dualStack are networks with IPv6, whose range the Shoot reports.
func ipv6Only(facts *plugin.Facts) {
	facts.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv6}
	facts.PodCIDRs = []string{podCIDR6}
}

func dualStack(facts *plugin.Facts) {
	facts.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
	facts.PodCIDRs = []string{podCIDR, podCIDR6}
}

// migrating is a network of IPv4 on its way to dual-stack.
func migrating(facts *plugin.Facts) {
	facts.IPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4}
	facts.WantedIPFamilies = []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6}
	facts.PodCIDRs = []string{podCIDR}
}

// withoutKubeProxy is a Shoot without kube-proxy, whose API server has an address.
func withoutKubeProxy(facts *plugin.Facts) {
	facts.KubeProxy = plugin.KubeProxy{}
	facts.APIServer.ExternalHost = "api.one.test.example.com"
}

func withIPVS(facts *plugin.Facts) {
	facts.KubeProxy = plugin.KubeProxy{Enabled: true, Mode: corev1beta1.ProxyModeIPVS}
}

func withNodeLocalDNS(facts *plugin.Facts) { facts.NodeLocalDNS = true }

func withClusterPool(facts *plugin.Facts) { facts.IPAM = "cluster-pool" }

// standalone is a cluster of nobody but Trellis.
func standalone(facts *plugin.Facts) {
	facts.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
}

func withNodes(atLeast int32) option {
	return func(facts *plugin.Facts) { facts.NodesAtLeast = atLeast }
}

// try builds a network that may have errors.
func try(t *testing.T, config string, options ...option) *network {
	t.Helper()
	return tryRequest(t, requestFor(t, config, options...))
}

func tryRequest(t *testing.T, request pipeline.Request) *network {
	t.Helper()
	result := newPipeline().Build(request)
	for _, group := range [][]plugin.Object{result.Objects.Shoot, result.Objects.ShootLater, result.Objects.Seed} {
		for i, object := range group {
			if constant, ok := object.(*plugin.Constant); ok {
				group[i] = constant.DeepCopyObject().(plugin.Object) // tests look into it
			}
		}
	}
	return &network{t, result}
}

func newPipeline() *pipeline.Pipeline {
	p, err := pipeline.New([]plugin.Plugin{cilium.New()}, nil)
	if err != nil {
		panic(err)
	}
	return p
}

// build builds a network without errors.
func build(t *testing.T, config string, options ...option) *network {
	t.Helper()
	n := try(t, config, options...)
	if len(n.Errors) > 0 {
		t.Fatalf("%s\nhas errors: %v", config, n.Errors.ToAggregate())
	}
	return n
}

// find returns the object of that type and name, or nil.
func find[T plugin.Object](n *network, name string) T {
	var none T
	for _, group := range [][]plugin.Object{n.Objects.Shoot, n.Objects.ShootLater, n.Objects.Seed} {
		for _, object := range group {
			if typed, ok := object.(T); ok && typed.GetName() == name {
				return typed
			}
		}
	}
	return none
}

// need returns the object of that type and name, and fails without it.
func need[T plugin.Object](n *network, name string) T {
	n.t.Helper()
	found := find[T](n, name)
	NewWithT(n.t).Expect(found).NotTo(BeZero(), "%T %s", found, name)
	return found
}

func (n *network) data(configMap string) map[string]string {
	n.t.Helper()
	return need[*corev1.ConfigMap](n, configMap).Data
}

// warned returns the messages of warnings at a path below the config.
func (n *network) warned(path string) []string {
	var messages []string
	for _, warning := range n.Warnings {
		if warning.Field == "spec.providerConfig."+path {
			messages = append(messages, warning.Message)
		}
	}
	return messages
}

// sorted returns the keys of a map, so that tests are deterministic too.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// decode reads a JSON document.
func decode(t *testing.T, document string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%s\nis no JSON: %v", document, err)
	}
}

// file reads a file of the plugin's.
func file(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
