// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// fake is a Definition whose hooks a test can replace one by one.
type fake[C any] struct {
	describe          func() plugin.Description
	validate          func(*C, *plugin.Input, *field.Path) plugin.Findings
	defaults          func(*C, *plugin.Input, *plugin.Origins)
	validateEffective func(effective, written *C, facts *plugin.Input, path *field.Path) plugin.Findings
	classify          func(plugin.Change[C]) (plugin.ChangeClass, string)
	render            func(*C, *plugin.Input) (plugin.Objects, error)
}

func (f *fake[C]) Describe() plugin.Description { return f.describe() }

func (f *fake[C]) Validate(written *C, facts *plugin.Input, path *field.Path) plugin.Findings {
	return f.validate(written, facts, path)
}

func (f *fake[C]) Default(config *C, facts *plugin.Input, origins *plugin.Origins) {
	f.defaults(config, facts, origins)
}

func (f *fake[C]) ValidateEffective(effective, written *C, facts *plugin.Input, path *field.Path) plugin.Findings {
	return f.validateEffective(effective, written, facts, path)
}

func (f *fake[C]) Classify(change plugin.Change[C]) (plugin.ChangeClass, string) {
	return f.classify(change)
}

func (f *fake[C]) Render(effective *C, facts *plugin.Input) (plugin.Objects, error) {
	return f.render(effective, facts)
}

// declaring makes f declare one more class for a path.
func declaring[C any](f *fake[C], path string, class plugin.ChangeClass) {
	describe := f.describe
	f.describe = func() plugin.Description {
		d := describe()
		d.Changes[path] = append(d.Changes[path], plugin.PossibleChange{Class: class, Reason: "agents notice"})
		return d
	}
}

// adapted is f for a config type in which the one of f is.
func adapted[C any](f *fake[config], inner func(*C) *config) *fake[C] {
	return &fake[C]{
		describe: f.describe,
		validate: func(c *C, facts *plugin.Input, path *field.Path) plugin.Findings {
			return f.validate(inner(c), facts, path)
		},
		defaults: func(c *C, facts *plugin.Input, origins *plugin.Origins) { f.defaults(inner(c), facts, origins) },
		validateEffective: func(c, written *C, facts *plugin.Input, path *field.Path) plugin.Findings {
			return f.validateEffective(inner(c), inner(written), facts, path)
		},
		classify: func(c plugin.Change[C]) (plugin.ChangeClass, string) {
			state := func(s plugin.State[C]) plugin.State[config] {
				return plugin.State[config]{Config: inner(s.Config), Input: s.Input}
			}
			return f.classify(plugin.Change[config]{Path: c.Path, Before: state(c.Before), After: state(c.After)})
		},
		render: func(c *C, facts *plugin.Input) (plugin.Objects, error) { return f.render(inner(c), facts) },
	}
}

// config has a field of each kind.
type config struct {
	metav1.TypeMeta `json:",inline"`

	MTU      *int32              `json:"mtu,omitempty"`
	Mode     *string             `json:"mode,omitempty"`
	Logging  *logging            `json:"logging,omitempty"`
	Peers    []peer              `json:"peers,omitempty"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

type logging struct {
	Enabled bool   `json:"enabled"`
	Level   string `json:"level,omitempty"`
}

type peer struct {
	Address string `json:"address"`
}

// sound passes all checks.
func sound() *fake[config] {
	return &fake[config]{
		describe: func() plugin.Description {
			return plugin.Description{
				Type: "sound", ConfigVersions: []schema.GroupVersion{{Group: "sound.example.com", Version: "v1"}},
				Origin:       "sound",
				IPFamilies:   plugin.IPFamilySupport{IPv4: true, IPv6: true, DualStack: true},
				FeatureGates: []plugin.FeatureGate{{Name: "Louder", Doc: "lets agents log more"}},
				Changes:      soundChanges.Possible(),
			}
		},
		validate:          soundValidate,
		defaults:          soundDefaults,
		validateEffective: soundValidateEffective,
		classify:          soundClassify,
		render:            soundRender,
	}
}

func soundValidate(written *config, _ *plugin.Input, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if written.MTU != nil && (*written.MTU < 576 || *written.MTU > 9000) {
		found.Error(field.Invalid(path.Child("mtu"), *written.MTU, "must be 576 to 9000"))
	}
	if written.Mode != nil && !slices.Contains([]string{"tunnel", "routed"}, *written.Mode) {
		found.Error(field.NotSupported(path.Child("mode"), *written.Mode, []string{"tunnel", "routed"}))
	}
	for i, one := range written.Peers {
		if one.Address == "" {
			found.Error(field.Required(path.Child("peers").Index(i).Child("address"), "an IP address"))
		}
	}
	for name, quantity := range written.Requests {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory || quantity.Sign() <= 0 {
			found.Error(field.Invalid(path.Child("requests").Key(string(name)), quantity.String(), "must be cpu or memory, and more than zero"))
		}
	}
	slices.SortFunc(found.Errors, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return found
}

func soundDefaults(c *config, facts *plugin.Input, origins *plugin.Origins) {
	if c.MTU == nil {
		c.MTU = new(int32(1400))
	}
	if c.Mode == nil {
		c.Mode = new("tunnel")
	}
	if facts.Infrastructure.PodRoutes && *c.Mode == "tunnel" {
		c.Mode = new("routed")
		origins.Infrastructure("mode", "the cloud makes routes")
	}
	if c.Logging == nil {
		c.Logging = &logging{}
	}
	c.Logging.Level = cmp.Or(c.Logging.Level, "info")
	c.Requests = system.RequestsWith(c.Requests, "100m", "50Mi")
}

func soundValidateEffective(_, _ *config, facts *plugin.Input, _ *field.Path) plugin.Findings {
	var found plugin.Findings
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "switch kube-proxy on"))
	}
	return found
}

var soundChanges = plugin.ChangePolicy[config]{
	"mtu":      {{Class: plugin.Rolling, Reason: "agents notice"}},
	"mode":     {{Class: plugin.Disruptive, Reason: "agents notice"}},
	"logging":  {{Class: plugin.Rolling, Reason: "agents notice"}},
	"peers":    {{Class: plugin.Rolling, Reason: "agents notice"}},
	"requests": {{Class: plugin.Rolling, Reason: "agents notice"}},
}

func soundClassify(change plugin.Change[config]) (plugin.ChangeClass, string) {
	return soundChanges.Classify(change)
}

func soundRender(c *config, facts *plugin.Input) (plugin.Objects, error) {
	shown := *c
	shown.TypeMeta = metav1.TypeMeta{} // which has no effect
	settings, err := json.Marshal(shown)
	if err != nil {
		return plugin.Objects{}, err
	}
	configMap := &corev1.ConfigMap{
		TypeMeta: system.TypeMeta("v1", "ConfigMap"), ObjectMeta: system.Named("agent", nil),
		Data: map[string]string{"config": string(settings), "pods": facts.PodCIDR},
	}
	inSeed := configMap.DeepCopy()
	inSeed.Namespace = facts.Namespace
	components := []plugin.Component{{Name: "agents", Kind: "DaemonSet", Workload: "agent", Namespace: "kube-system"}}
	return plugin.NewObjects(components,
		plugin.NetworkBundle("sound", append(slices.Clone(soundAccess), configMap, restarted(agent(c, facts), configMap), controller())),
		plugin.ExtrasBundle("sound-later", []plugin.Object{custom("plugintest.example.com", "Brought")}),
		plugin.SeedBundle("sound-seed", []plugin.Object{inSeed})), nil
}

var soundAccess = plugin.Constants(
	system.ServiceAccount("agent"),
	system.ClusterRole("agent", system.Rule("", []string{"nodes"}, "get", "list", "watch")),
	system.ClusterRoleBinding("agent", system.Account("agent")),
	definitionOf("Gadget"),
	custom("plugintest.trellis.network", "Gadget"),
)

func agent(c *config, facts *plugin.Input) *appsv1.DaemonSet {
	labels := system.SystemApp("agent")
	labels[system.CriticalLabel] = "true"
	return &appsv1.DaemonSet{
		TypeMeta: system.TypeMeta("apps/v1", "DaemonSet"), ObjectMeta: system.Named("agent", labels),
		Spec: appsv1.DaemonSetSpec{
			Selector:       system.Selecting(system.App("agent")),
			UpdateStrategy: system.RollOut(facts),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(labels),
				Spec: corev1.PodSpec{
					ServiceAccountName: "agent", HostNetwork: true, PriorityClassName: system.NodePriority,
					Tolerations: system.TolerateAll(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
					Containers: []corev1.Container{{
						Name: "agent", Image: "registry.example.com:5000/agent:v1",
						Resources: corev1.ResourceRequirements{Requests: c.Requests.DeepCopy()},
					}},
					Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "agent"}},
					}}},
				},
			},
		},
	}
}

// restarted restarts agents when what they read changes.
func restarted(agents *appsv1.DaemonSet, configMap *corev1.ConfigMap) *appsv1.DaemonSet {
	agents.Spec.Template.Annotations = map[string]string{system.ChecksumAnnotation(configMap.Name): system.Checksum(configMap)}
	return agents
}

// controller is a Deployment that waits for the network.
func controller() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: system.TypeMeta("apps/v1", "Deployment"), ObjectMeta: system.Named("controller", system.SystemApp("controller")),
		Spec: appsv1.DeploymentSpec{
			Selector: system.Selecting(system.App("controller")),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: system.PodMeta(system.MayReachOut(system.SystemApp("controller"))),
				Spec: corev1.PodSpec{
					ServiceAccountName: "agent", PriorityClassName: system.ClusterPriority,
					Containers: []corev1.Container{{Name: "controller", Image: "registry.example.com/controller@sha256:" + strings.Repeat("0", 64)}},
				},
			},
		},
	}
}

func custom(group, kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": kind}}
	object.SetName("one")
	return object
}

// definitionOf is the definition of a kind of the group plugintest.trellis.network.
func definitionOf(kind string) *apiextensionsv1.CustomResourceDefinition {
	const group = "plugintest.trellis.network"
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   system.TypeMeta(apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"),
		ObjectMeta: system.ClusterWide(plural + "." + group),
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer"}},
				}},
			}},
		},
	}
}

// soundOptions are the options that the sound plugin needs.
func soundOptions() []Option {
	return []Option{
		Case{Name: "everything", Config: "{mtu: 1280, mode: routed, logging: {enabled: true}, peers: [{address: 10.0.0.1}], requests: {cpu: 1}}"},
		Case{Name: "in a cloud", Config: "mode: tunnel", In: func(f *plugin.Input) { f.Infrastructure.PodRoutes = true }},
		NeedsKubeProxy(),
		WithREADME("testdata/README.md"),
	}
}
