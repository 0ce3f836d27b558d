// SPDX-License-Identifier: Apache-2.0

package flannel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
)

// The ranges of the networks in these tests.
const (
	podCIDR  = "100.64.0.0/12"
	podCIDR6 = "2001:db8:1::/56"
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
	facts := plugin.Facts{
		Namespace:  "shoot--test--one",
		IPFamilies: []extensionsv1alpha1.IPFamily{extensionsv1alpha1.IPv4},
		KubeProxy:  plugin.KubeProxy{Enabled: true},
		// Nobody else's pods are near, and routes are made, of which there would be warnings.
		Infrastructure: plugin.Infrastructure{OwnNetwork: true, PodRoutes: true},
	}
	for _, change := range options {
		change(&facts)
	}
	request := pipeline.Request{
		Name: "network", Namespace: facts.Namespace, Author: pipeline.AuthorNetwork, Facts: facts,
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: flannel.Type},
			PodCIDR:     podCIDR, ServiceCIDR: "100.96.0.0/13",
			IPFamilies: facts.IPFamilies,
		},
	}
	if len(facts.WantedIPFamilies) > 0 {
		request.Spec.IPFamilies = facts.WantedIPFamilies
	}
	if !facts.HasIPFamily(extensionsv1alpha1.IPv4) {
		request.Spec.PodCIDR, request.Spec.ServiceCIDR = podCIDR6, "2001:db8:2::/112"
	}
	if config != "" {
		raw, err := yaml.YAMLToJSON([]byte(config))
		if err != nil {
			t.Fatalf("the test's config is not YAML: %v", err)
		}
		request.Spec.ProviderConfig = &runtime.RawExtension{Raw: raw}
	}
	return request
}

// families are those of the network, with their ranges in the Shoot's status.
func families(list ...extensionsv1alpha1.IPFamily) option {
	return func(facts *plugin.Facts) {
		facts.IPFamilies = list
		for _, family := range list {
			cidr := podCIDR
			if family == extensionsv1alpha1.IPv6 {
				cidr = podCIDR6
			}
			facts.PodCIDRs = append(facts.PodCIDRs, cidr)
		}
	}
}

var (
	ipv6Only  = families(extensionsv1alpha1.IPv6)
	dualStack = families(extensionsv1alpha1.IPv4, extensionsv1alpha1.IPv6)
	ipv6First = families(extensionsv1alpha1.IPv6, extensionsv1alpha1.IPv4)
)

// migrating is a network of IPv4 on its way to dual-stack.
func migrating(facts *plugin.Facts) {
	dualStack(facts)
	facts.WantedIPFamilies, facts.IPFamilies = facts.IPFamilies, facts.IPFamilies[:1]
}

// try builds a network that may have errors.
func try(t *testing.T, config string, options ...option) *network {
	t.Helper()
	return tryRequest(t, requestFor(t, config, options...))
}

func tryRequest(t *testing.T, request pipeline.Request) *network {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{flannel.New()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &network{t, p.Build(request)}
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

// need returns the object of that type and name, and fails without it.
func need[T plugin.Object](n *network, name string) T {
	n.t.Helper()
	for _, object := range n.Objects.Shoot {
		if constant, ok := object.(*plugin.Constant); ok {
			object = constant.DeepCopyObject().(plugin.Object)
		}
		if typed, ok := object.(T); ok && typed.GetName() == name {
			return typed
		}
	}
	var none T
	n.t.Fatalf("there is no %T %s", none, name)
	return none
}

func (n *network) node() *appsv1.DaemonSet {
	n.t.Helper()
	return need[*appsv1.DaemonSet](n, "kube-flannel-ds")
}

func (n *network) setting(key string) string {
	n.t.Helper()
	return need[*corev1.ConfigMap](n, "kube-flannel-cfg").Data[key]
}

// container returns a container of the DaemonSet.
func (n *network) container(name string) corev1.Container {
	n.t.Helper()
	pod := n.node().Spec.Template.Spec
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Name == name {
			return container
		}
	}
	n.t.Fatalf("there is no container %s", name)
	return corev1.Container{}
}

// errorsOf are the kinds of errors, and their paths below the config.
func errorsOf(n *network) []string {
	var found []string
	for _, err := range n.Errors {
		found = append(found, fmt.Sprintf("%s @ %s", err.Type, strings.TrimPrefix(err.Field, "spec.providerConfig.")))
	}
	return found
}

// warned are the messages of warnings by path below the config.
func (n *network) warned() map[string]string {
	messages := map[string]string{}
	for _, warning := range n.Warnings {
		messages[strings.TrimPrefix(warning.Field, "spec.providerConfig.")] += warning.Message
	}
	return messages
}
