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

// stringConfig is the config of "string", a network of tin cans and string that
// the tests of this package are about.
type stringConfig struct {
	metav1.TypeMeta `json:",inline"`
	Mode            string  `json:"mode,omitempty"`
	MTU             string  `json:"mtu,omitempty"`
	Tunnel          *tunnel `json:"tunnel,omitempty"`
}

type tunnel struct {
	Enabled bool   `json:"enabled"`
	Kind    string `json:"kind,omitempty"`
}

// stringPlugin has the knobs that tests turn.
type stringPlugin struct {
	defaultMTU string
	breaks     string // what is wrong with it, "" if nothing
	strict     bool   // whether it refuses what others accept
	ipv6       bool   // whether it serves IPv6 alone
	tasks      func() []plugin.Object
}

var _ plugin.Definition[stringConfig] = stringPlugin{}

func (p stringPlugin) Describe() plugin.Description {
	return plugin.Description{
		Type:           "string",
		ConfigVersions: []schema.GroupVersion{{Group: "string.example.org", Version: "v1"}, {Group: "string.example.org", Version: "v1beta1"}},
		Origin:         "string",
		IPFamilies:     plugin.IPFamilySupport{IPv4: true, IPv6: p.ipv6, DualStack: true},
	}
}

func (p stringPlugin) Validate(written *stringConfig, facts *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if p.strict && written.Mode == "slack" {
		found.Error(field.Forbidden(path.Child("mode"), "strings must be taut"))
	}
	if written.Mode == "slack" && !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(path.Child("mode"), "a slack string needs kube-proxy"))
	}
	if written.Mode != "" && written.Mode != "taut" && written.Mode != "slack" {
		found.Error(field.NotSupported(path.Child("mode"), written.Mode, []string{"slack", "taut"}))
	}
	return found
}

func (p stringPlugin) Default(config *stringConfig, facts *plugin.Input, origins *plugin.Origins) {
	if p.breaks == "default" {
		panic("a tangle")
	}
	config.MTU = cmp.Or(config.MTU, p.defaultMTU, "1400")
	if config.Mode == "" {
		config.Mode = "taut"
		if facts.Infrastructure.NoIPIP {
			config.Mode = "slack"
			origins.Infrastructure("mode", facts.Infrastructure.Type+" has no poles")
		}
	}
	if config.Tunnel != nil && config.Tunnel.Enabled {
		config.MTU = "1200"
		origins.Rule("mtu", "a tunnel needs room")
	}
}

func (p stringPlugin) ValidateEffective(effective, _ *stringConfig, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if p.strict && effective.MTU == "1300" {
		found.Error(field.Invalid(path.Child("mtu"), effective.MTU, "brings bad luck"))
	}
	if effective.MTU == "0" {
		found.Error(field.Invalid(path.Child("mtu"), effective.MTU, "must be positive"))
	}
	return found
}

func (stringPlugin) Classify(change plugin.Change[stringConfig]) (plugin.ChangeClass, string) {
	switch path := change.Path; {
	case path == "mode":
		return plugin.Forbidden, "strings snap when their mode changes"
	case path == "mtu":
		return plugin.Rolling, "cans are replaced one by one"
	case path == string(plugin.FactKubeProxy):
		return plugin.Disruptive, "calls are put through by somebody else"
	case path == string(plugin.FactKubernetesVersion) && change.After.Config.Mode == "slack":
		return plugin.Forbidden, "a slack string is only for the version that it was made for"
	}
	return "", ""
}

// tasksBundle carries what tests add to the network.
const tasksBundle = "string-config-later"

func (p stringPlugin) Render(effective *stringConfig, _ *plugin.Input) (plugin.Objects, error) {
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "string", Namespace: "kube-system"},
		Data:       map[string]string{"mode": effective.Mode, "mtu": effective.MTU},
	}
	cans := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "cans", Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			ServiceAccountName: "cans",
			InitContainers:     []corev1.Container{{Name: "drill"}},
			Containers:         []corev1.Container{{Name: "can", Env: []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_PORT", Value: "1"}}}},
		}}},
	}
	var tasks []plugin.Object
	if p.tasks != nil {
		tasks = p.tasks()
	}
	objects := plugin.NewObjects(nil, plugin.NetworkBundle("string-config", []plugin.Object{config, cans}), plugin.ExtrasBundle(tasksBundle, tasks))
	switch p.breaks {
	case "error":
		return objects, errors.New("out of string")
	case "panic":
		panic("a knot")
	case "nameless":
		config.Name = ""
	case "kindless":
		config.TypeMeta = metav1.TypeMeta{}
	case "twice":
		objects.Bundles[0].Objects = append(objects.Bundles[0].Objects, config)
	}
	return objects, nil
}

// plains is an infrastructure without poles.
type plains struct{}

func (plains) Type() string { return "plains" }
func (plains) Infrastructure(*corev1beta1.Shoot) plugin.Infrastructure {
	return plugin.Infrastructure{Type: "plains", NoIPIP: true}
}

func newPipeline(t testing.TB, definition stringPlugin) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{plugin.New(definition)}, []plugin.Provider{plains{}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

// network is a Network that is fine but for what change does to it.
func network(config string, change ...func(*extensionsv1alpha1.NetworkSpec)) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: "shoot--dev--tin"},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "string"},
			PodCIDR:     "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
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
	p := newPipeline(t, stringPlugin{})
	return p.Build(p.NewRequest(network(config, change...), nil, plugin.Environment{}))
}

// lines are errors as people see them.
func lines(errs field.ErrorList) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return strings.Join(out, "\n")
}
