// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/plugin"
)

// replace makes f render other objects for the shoot.
func replace(f *fake[config], with func(plugin.Object) plugin.Object) {
	f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
		objects, err := soundRender(c, facts)
		var kept []plugin.Object
		for _, object := range objects.Bundles[0].Objects {
			if object = with(object); object != nil {
				kept = append(kept, object)
			}
		}
		objects.Bundles[0].Objects = kept
		return objects, err
	}
}

func changeConfigMap(f *fake[config], change func(data map[string]string)) {
	replace(f, func(o plugin.Object) plugin.Object {
		if configMap, ok := o.(*corev1.ConfigMap); ok {
			change(configMap.Data)
		}
		return o
	})
}

func changeAgent(change func(*appsv1.DaemonSet)) func(*fake[config]) {
	return func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if daemonSet, ok := o.(*appsv1.DaemonSet); ok {
				change(daemonSet)
			}
			return o
		})
	}
}

func changeController(change func(*appsv1.Deployment)) func(*fake[config]) {
	return func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if deployment, ok := o.(*appsv1.Deployment); ok {
				change(deployment)
			}
			return o
		})
	}
}

func withoutRole(f *fake[config]) {
	replace(f, func(o plugin.Object) plugin.Object {
		if o.GetObjectKind().GroupVersionKind().Kind == "ClusterRole" {
			return nil
		}
		return o
	})
}

func TestAMissingObjectCanBeJustified(t *testing.T) {
	b := broken{wrong: withoutRole, options: []Option{WithMissing("ClusterRole agent", "another controller brings it")}}
	NewWithT(t).Expect(problems(t, b.make(), b.allOptions(t))).To(BeEmpty())
}

// brokenObjects do not fit each other.
var brokenObjects = []broken{
	{check: "rendering", how: "a component that is not there", says: "component agents is DaemonSet kube-system/agent, which is not among the objects", wrong: func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if _, ok := o.(*appsv1.DaemonSet); ok {
				return nil
			}
			return o
		})
	}},
	{check: "rendering", how: "a ConfigMap that is not there", says: "DaemonSet kube-system/agent refers to ConfigMap kube-system/agent", wrong: func(f *fake[config]) {
		replace(f, func(o plugin.Object) plugin.Object {
			if _, ok := o.(*corev1.ConfigMap); ok {
				return nil
			}
			return o
		})
	}},
	{check: "rendering", how: "a role that is not there", says: "ClusterRoleBinding agent refers to ClusterRole agent", wrong: withoutRole},
	{check: "rendering", how: "a justification for what is there", says: `WithMissing("ClusterRole agent") justifies nothing`,
		options: []Option{WithMissing("ClusterRole agent", "it was missing once")}},
	{check: "rendering", how: "a justification without a reason", says: `WithMissing("ClusterRole agent") gives no reason`, wrong: withoutRole,
		options: []Option{WithMissing("ClusterRole agent", " ")}},
	{check: "rendering", how: "no components", says: "a network has no Components", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			objects.Components = nil
			return objects, err
		}
	}},
	{check: "rendering", how: "nothing at all", says: "a network has neither errors nor objects", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			if facts.VPA {
				return plugin.Objects{}, nil
			}
			return soundRender(c, facts)
		}
	}},
	{check: "rendering", how: "elsewhere in the seed", says: `is in namespace "garden"`, wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			objects.For(plugin.Seed)[0].SetNamespace("garden")
			return objects, err
		}
	}},
	{check: "rendering", how: "a defect in one kind of cluster", says: "has a defect, though its user did nothing wrong: the plugin rendered ConfigMap kube-system/agent twice", wrong: func(f *fake[config]) {
		f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
			objects, err := soundRender(c, facts)
			if facts.VPA {
				objects.Bundles[0].Objects = append(objects.Bundles[0].Objects, objects.Bundles[0].Objects[5])
			}
			return objects, err
		}
	}},
}
