// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugin/system"
)

// counter outlives Render, which is wrong.
var counter int

// brokenHooks do not do what the documentation of the hooks demands.
var brokenHooks = []broken{
	{check: "purity", how: "Validate changes the config", says: "Validate changes the config as written", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			defer func() { c.Requests = corev1.ResourceList{} }()
			c.Logging = &logging{}
			return soundValidate(c, facts, path)
		}
	}},
	{check: "purity", how: "Default changes the input", says: "Default changes the input", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			facts.NodesAtMost = 7
			soundDefaults(c, facts, origins)
		}
	}},
	{check: "purity", how: "Render changes the effective config", says: "Render changes the effective config", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			c.Logging.Level = "debug"
			if err == nil {
				objects.Bundles[0].Objects[5].(*corev1.ConfigMap).Data["config"] = "" // which would differ from then on
				objects.Bundles = objects.Bundles[:2]
			}
			return objects, err
		}
	}},
	{check: "purity", how: "an object is shared", says: "DaemonSet kube-system/agent, or a struct, a list or a map in it, is also in another network", wrong: func(f *fake[config]) {
		shared := agent(&config{}, &plugin.Input{Decisions: plugin.Decisions{MaxUnavailable: atATime}})
		replace(f, func(o plugin.Object) plugin.Object {
			if _, ok := o.(*appsv1.DaemonSet); ok {
				shared.Spec.Template.Spec.Volumes = nil                             // so that they read nothing that changes
				shared.Spec.Template.Spec.AutomountServiceAccountToken = new(false) // so that the pipeline changes nothing
				shared.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_HOST"}, {Name: "KUBERNETES_SERVICE_PORT"}}
				return shared
			}
			return o
		})
	}},
	{check: "purity", how: "a part of an object is shared", says: "DaemonSet kube-system/agent, or a struct, a list", wrong: func(f *fake[config]) {
		volumes := agent(&config{}, &plugin.Input{}).Spec.Template.Spec.Volumes
		changeAgent(func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Volumes = volumes[:1:1] })(f)
	}},
	{check: "purity", how: "labels are shared", says: "ConfigMap kube-system/agent, or a struct, a list or a map", wrong: func(f *fake[config]) {
		labels := system.App("agent")
		replace(f, func(o plugin.Object) plugin.Object {
			if configMap, ok := o.(*corev1.ConfigMap); ok {
				configMap.Labels = labels
			}
			return o
		})
	}},
	{check: "determinism", how: "a counter", says: "the same Request does not give the same bytes each time", wrong: func(f *fake[config]) {
		changeConfigMap(f, func(data map[string]string) { counter++; data["n"] = fmt.Sprint(counter) })
	}},
	{check: "determinism", how: "the order of a map", says: "the same Request does not give the same bytes each time", wrong: func(f *fake[config]) {
		changeConfigMap(f, func(data map[string]string) {
			for name := range map[string]bool{"a": true, "b": true, "c": true} {
				data["order"] += name
			}
		})
	}},
	{check: "defaults", how: "not idempotent", says: "Default changes its own result", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			c.Logging = &logging{Enabled: c.Logging == nil, Level: "info"}
			origins.Rule("logging", "it is odd")
			soundDefaults(c, facts, origins)
		}
	}, readme: func(text string) string { return strings.Replace(text, "`false`", "`true`", 1) }},
	{check: "defaults", how: "no reason", says: "and Default does not say why", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			c.MTU = new(int32(1400))
			soundDefaults(c, facts, origins)
		}
	}},
	{check: "defaults", how: "a reason for no field", says: "Default explains MTU, which is no field", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			origins.Rule("MTU", "it is so")
			soundDefaults(c, facts, origins)
		}
	}},
	{check: "defaults", how: "a consequence that is told to be none", says: "what was in force before stays in force", wrong: func(f *fake[config]) {
		f.defaults = func(c *config, facts *plugin.Input, origins *plugin.Origins) {
			if c.MTU == nil && c.Mode != nil && *c.Mode == "routed" {
				c.MTU = new(int32(1500)) // since there is no tunnel, of which there is no word
			}
			soundDefaults(c, facts, origins)
		}
	}},
	{check: "validation", how: "a panic", says: "the sound plugin panicked at broken_hooks_test.go:", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			if c.MTU != nil {
				_ = 1 / *c.MTU
			}
			return soundValidate(c, facts, path)
		}
	}},
	{check: "validation", how: "a path of its own", says: "does not name a field inside of spec.networking.providerConfig", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, _ *field.Path) plugin.Findings {
			return soundValidate(c, facts, field.NewPath("providerConfig"))
		}
	}},
	{check: "validation", how: "a path to nowhere", says: "names size, which is no field", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			found := soundValidate(c, facts, path)
			for _, err := range found.Errors {
				err.Field = strings.Replace(err.Field, "mtu", "size", 1)
			}
			return found
		}
	}},
	{check: "validation", how: "no advice", says: "does not say what is allowed", wrong: func(f *fake[config]) {
		f.validate = func(c *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			found := soundValidate(c, facts, path)
			for _, err := range found.Errors {
				err.Detail = ""
			}
			return found
		}
	}},
	{check: "validation", how: "too much is accepted", says: "cannot be rendered", wrong: func(f *fake[config]) {
		f.validate = func(*config, *plugin.Input, *field.Path) plugin.Findings { return plugin.Findings{} }
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			if *c.Mode != "tunnel" && *c.Mode != "routed" {
				return plugin.Objects{}, fmt.Errorf("mode %q", *c.Mode)
			}
			return soundRender(c, facts)
		}
	}},
	{check: "changes", how: "a class that does not exist", says: `has the class "harmless" for mtu`, wrong: func(f *fake[config]) {
		f.classify = func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			if c.Path == "mtu" {
				return "harmless", "rolling" // README says rolling
			}
			return soundClassify(c)
		}
	}, readme: func(text string) string { return strings.Replace(text, "| rolling |", "| harmless |", 1) }},
	{check: "changes", how: "no reason", says: "has no reason why a change of mtu is rolling", wrong: func(f *fake[config]) {
		f.classify = func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			class, _ := soundClassify(c)
			return class, ""
		}
	}},
	{check: "changes", how: "a class for everything", says: "Classify knows noSuchField", wrong: func(f *fake[config]) {
		f.classify = func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			if class, reason := soundClassify(c); class != "" {
				return class, reason
			}
			return plugin.Safe, "it will be fine"
		}
	}},
	{check: "changes", how: "no class for what really changes", says: "has no class for mode", wrong: func(f *fake[config]) {
		f.classify = func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			if c.Path == "mode" && c.Before.Config.Mode != nil && c.After.Config.Mode != nil && *c.Before.Config.Mode != *c.After.Config.Mode {
				return "", ""
			}
			return soundClassify(c)
		}
	}},
	{check: "rendering", how: "a family that is declared and not served", says: "no case has objects in a cluster with [IPv6], which the plugin declares", wrong: func(f *fake[config]) {
		f.validateEffective = func(effective, written *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			found := soundValidateEffective(effective, written, facts, path)
			if len(facts.WantedIPFamilies) == 1 && facts.HasIPFamily(extensionsv1alpha1.IPv6) {
				found.Error(field.Forbidden(path.Child("mode"), "not with IPv6"))
			}
			return found
		}
	}},
	{check: "rendering", how: "kube-proxy is not needed", says: "a cluster with no kube-proxy gets objects", wrong: func(f *fake[config]) {
		f.validateEffective = func(_, _ *config, _ *plugin.Input, _ *field.Path) plugin.Findings { return plugin.Findings{} }
	}},
	{check: "rendering", how: "a mode of kube-proxy that is declared and not served", says: "no case has objects in a cluster with kube-proxy in mode IPVS; add a Case", wrong: func(f *fake[config]) {
		f.validateEffective = func(effective, written *config, facts *plugin.Input, path *field.Path) plugin.Findings {
			found := soundValidateEffective(effective, written, facts, path)
			if facts.KubeProxy.Mode == corev1beta1.ProxyModeIPVS {
				found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "mode"), "take another one"))
			}
			return found
		}
	}},
	{check: "rendering", how: "a case that is not possible", says: `case "too large" is refused in every cluster`,
		options: []Option{Case{Name: "too large", Config: "mtu: 100000"}}},
}
