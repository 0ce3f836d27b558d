// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// noopConfig is the config of "noop", the network plugin of the tests in this package.
type noopConfig struct {
	metav1.TypeMeta `json:",inline"`
	Mode            string  `json:"mode,omitempty"`
	MTU             string  `json:"mtu,omitempty"`
	Tunnel          *tunnel `json:"tunnel,omitempty"`
}

type tunnel struct {
	Enabled bool   `json:"enabled"`
	Kind    string `json:"kind,omitempty"`
}

// noopPlugin has the knobs that tests turn.
type noopPlugin struct {
	defaultMTU string
	breaks     string // what is wrong with it, "" if nothing
	strict     bool   // whether it refuses what others accept
	ipv6       bool   // whether it serves IPv6 alone
	tasks      func() []plugin.Object
}

var _ plugin.Definition[noopConfig] = noopPlugin{}

func (p noopPlugin) Describe() plugin.Description {
	return plugin.Description{
		Type:           "noop",
		ConfigVersions: []schema.GroupVersion{{Group: "noop.example.com", Version: "v1"}, {Group: "noop.example.com", Version: "v1beta1"}},
		Origin:         "noop",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: p.ipv6, DualStack: true},
	}
}

func (p noopPlugin) Validate(written *noopConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if p.strict && written.Mode == "bridged" {
		found.Error(field.Forbidden(path.Child("mode"), "bridged mode is not supported"))
	}
	if written.Mode == "bridged" && !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(path.Child("mode"), "bridged mode needs kube-proxy"))
	}
	if written.Mode != "" && written.Mode != "routed" && written.Mode != "bridged" {
		found.Error(field.NotSupported(path.Child("mode"), written.Mode, []string{"bridged", "routed"}))
	}
	return found
}

func (p noopPlugin) Default(config *noopConfig, facts *plugin.Input, origins *plugin.Origins) {
	if p.breaks == "default" || p.breaks == "default beside "+config.Mode {
		panic("broken defaults")
	}
	config.MTU = cmp.Or(config.MTU, p.defaultMTU, "1400")
	if config.Mode == "" {
		config.Mode = "routed"
		if facts.Infrastructure.NoIPIP {
			config.Mode = "bridged"
			origins.Infrastructure("mode", facts.Infrastructure.Type+" has no IP-in-IP")
		}
	}
	if config.Tunnel != nil && config.Tunnel.Enabled {
		config.MTU = "1200"
		origins.Rule("mtu", "a tunnel needs room")
	}
}

func (p noopPlugin) ValidateEffective(effective, _ *noopConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if p.strict && effective.MTU == "1300" {
		found.Error(field.Invalid(path.Child("mtu"), effective.MTU, "is not supported"))
	}
	if effective.MTU == "0" {
		found.Error(field.Invalid(path.Child("mtu"), effective.MTU, "must be positive"))
	}
	return found
}

func (noopPlugin) Classify(change plugin.Change[noopConfig]) (plugin.ChangeClass, string) {
	switch path := change.Path; {
	case path == "mode":
		return plugin.Forbidden, "running pods keep the former mode"
	case path == "mtu":
		return plugin.Rolling, "the agents restart one by one"
	case path == string(plugin.FactKubeProxy):
		return plugin.Disruptive, "the agents take over from kube-proxy"
	case path == string(plugin.FactKubernetesVersion) && change.After.Config.Mode == "bridged":
		return plugin.Forbidden, "bridged mode is only for one version of Kubernetes"
	}
	return "", ""
}

// DescribeDataPath relies on the infrastructure's routes unless there is a tunnel.
func (noopPlugin) DescribeDataPath(effective *noopConfig) plugin.DataPath {
	if effective.Tunnel != nil && effective.Tunnel.Enabled {
		return plugin.DataPath{Packets: "through a tunnel", Router: "the agents"}
	}
	return plugin.DataPath{
		Packets: "no encapsulation", Field: "tunnel.enabled",
		Instead: []plugin.Edit{
			{Values: map[string]any{"tunnel.enabled": true}},
			{Values: map[string]any{"tunnel.enabled": true, "mode": nil}, Where: "on islands"},
		},
	}
}

// tasksBundle carries what tests add to the network.
const tasksBundle = "noop-config-later"

func (p noopPlugin) Render(effective *noopConfig, _ *plugin.Input) (plugin.Objects, error) {
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: "kube-system"},
		Data:       map[string]string{"mode": effective.Mode, "mtu": effective.MTU},
	}
	agents := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "agents", Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			ServiceAccountName: "agents",
			InitContainers:     []corev1.Container{{Name: "init"}},
			Containers:         []corev1.Container{{Name: "agent", Env: []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_PORT", Value: "1"}}}},
		}}},
	}
	var tasks []plugin.Object
	if p.tasks != nil {
		tasks = p.tasks()
	}
	objects := plugin.NewObjects(nil, plugin.NetworkBundle("noop-config", []plugin.Object{config, agents}), plugin.ExtrasBundle(tasksBundle, tasks))
	switch p.breaks {
	case "error":
		return objects, errors.New("cannot render")
	case "panic":
		panic("broken rendering")
	case "nameless":
		config.Name = ""
	case "kindless":
		config.TypeMeta = metav1.TypeMeta{}
	case "twice":
		objects.Bundles[0].Objects = append(objects.Bundles[0].Objects, config)
	}
	return objects, nil
}

// infra is an infrastructure without IP-in-IP.
type infra struct{}

func (infra) Type() string { return "infra" }
func (infra) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "infra", NoIPIP: true}
}

// island is an infrastructure on which nothing makes routes, and continent one with a few.
type (
	island    struct{}
	continent struct{}
)

func (island) Type() string    { return "island" }
func (continent) Type() string { return "continent" }
func (island) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "island", NoPodRoutes: true}
}
func (continent) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "continent", PodRoutes: true, PodRouter: "the road office", MaxPodRoutes: 5}
}

func newPipeline(t testing.TB, definition noopPlugin) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{plugin.New(definition)}, []plugin.Provider{infra{}, island{}, continent{}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

// network is a Network that is fine but for what change does to it.
func network(config string, change ...func(*extensionsv1alpha1.NetworkSpec)) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "shoot--dev--mine"},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type:    "noop",
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	if config != "" {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
	for _, c := range change {
		c(&n.Spec)
	}
	return n
}

func build(t testing.TB, config string, change ...func(*extensionsv1alpha1.NetworkSpec)) pipeline.Result {
	t.Helper()
	p := newPipeline(t, noopPlugin{})
	return p.Build(p.NewRequest(network(config, change...), nil, plugin.Environment{}))
}

// lines are errors as users see them.
func lines(errs field.ErrorList) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return strings.Join(out, "\n")
}
