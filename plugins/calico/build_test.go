// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/calico"
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
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: calico.Type},
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
	if !facts.HasIPFamily(extensionsv1alpha1.IPv4) {
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
	facts.PodCIDRs = []string{podCIDR, podCIDR6}
}

// try builds a network that may have errors.
func try(t *testing.T, config string, options ...option) *network {
	t.Helper()
	return tryRequest(t, requestFor(t, config, options...))
}

func tryRequest(t *testing.T, request pipeline.Request) *network {
	t.Helper()
	result := resultOf(t, request)
	for _, group := range [][]plugin.Object{result.Objects.Shoot, result.Objects.ShootLater, result.Objects.Seed} {
		for i, object := range group {
			if constant, ok := object.(*plugin.Constant); ok {
				group[i] = constant.DeepCopyObject().(plugin.Object) // tests look into it
			}
		}
	}
	return &network{t, result}
}

func resultOf(t *testing.T, request pipeline.Request) pipeline.Result {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{calico.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Build(request)
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
	for _, object := range n.Objects.Shoot {
		if typed, ok := object.(T); ok && typed.GetName() == name {
			return typed
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

// has says whether there is an object of that kind and name.
func (n *network) has(kind, name string) bool {
	for _, object := range n.Objects.Shoot {
		if object.GetObjectKind().GroupVersionKind().Kind == kind && object.GetName() == name {
			return true
		}
	}
	return false
}

// spec returns the spec of an object as it is written.
func (n *network) spec(kind, name string) map[string]any {
	n.t.Helper()
	for _, object := range n.Objects.Shoot {
		if object.GetObjectKind().GroupVersionKind().Kind == kind && object.GetName() == name {
			document, err := pipeline.Document(object)
			NewWithT(n.t).Expect(err).NotTo(HaveOccurred())
			return document["spec"].(map[string]any)
		}
	}
	n.t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func (n *network) node() *appsv1.DaemonSet {
	n.t.Helper()
	return need[*appsv1.DaemonSet](n, "calico-node")
}

func (n *network) data(configMap string) map[string]string {
	n.t.Helper()
	return need[*corev1.ConfigMap](n, configMap).Data
}

// container returns a container of calico-node.
func (n *network) container(name string) corev1.Container {
	n.t.Helper()
	pod := n.node().Spec.Template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for _, container := range containers {
			if container.Name == name {
				return container
			}
		}
	}
	n.t.Fatalf("calico-node has no container %s", name)
	return corev1.Container{}
}

// env returns the plain variables of a container of calico-node, and fails if one
// is there twice.
func (n *network) env(container string) map[string]string {
	n.t.Helper()
	return envOf(n.t, n.container(container))
}

func envOf(t *testing.T, container corev1.Container) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, variable := range container.Env {
		if _, twice := values[variable.Name]; twice {
			t.Fatalf("container %s has variable %s twice", container.Name, variable.Name)
		}
		values[variable.Name] = variable.Value
		if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			values[variable.Name] = "key " + from.ConfigMapKeyRef.Key
		} else if from != nil && from.FieldRef != nil {
			values[variable.Name] = "field " + from.FieldRef.FieldPath
		}
	}
	return values
}

func names(containers []corev1.Container) []string {
	list := []string{}
	for _, container := range containers {
		list = append(list, container.Name)
	}
	return list
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
