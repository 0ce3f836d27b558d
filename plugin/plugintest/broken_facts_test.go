// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// classified is the sound plugin with another word on some changes; an empty class leaves
// them as they are.
func classified(change func(*fake[config]), classify func(plugin.Change[config]) (plugin.ChangeClass, string)) func() plugin.Plugin {
	return func() plugin.Plugin {
		f := sound()
		if change != nil {
			change(f)
		}
		f.classify = func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			if class, reason := classify(c); class != "" {
				return class, reason
			}
			return soundClassify(c)
		}
		return plugin.New[config](f)
	}
}

// inCluster classifies a change of mtu where there is no kube-proxy.
func inCluster(class plugin.ChangeClass, reason string) func() plugin.Plugin {
	return classified(func(f *fake[config]) { declaring(f, "mtu", class) }, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
		if c.Path == "mtu" && !c.Before.KubeProxy.Enabled && !c.After.KubeProxy.Enabled {
			return class, reason
		}
		return "", ""
	})
}

// restarting makes agents depend on kube-proxy's mode, of which a change has the class.
func restarting(class plugin.ChangeClass, reason string) func() plugin.Plugin {
	return classified(func(f *fake[config]) {
		restartForMode(f)
		declaring(f, string(plugin.FactKubeProxyMode), class)
	}, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
		if c.Path == string(plugin.FactKubeProxyMode) {
			return class, reason
		}
		return "", ""
	})
}

func restartForMode(f *fake[config]) { restartFor(f, plugin.FactKubeProxyMode) }

// restartFor makes agents depend on a fact, so that they restart when it changes.
func restartFor(f *fake[config], fact plugin.Fact) {
	inner := f.render
	f.render = func(c *config, facts *plugin.Input) (plugin.Objects, error) {
		objects, err := inner(c, facts)
		for _, object := range objects.Bundles[0].Objects {
			if agents, ok := object.(*appsv1.DaemonSet); ok {
				container := &agents.Spec.Template.Spec.Containers[0]
				container.Env = append(container.Env, corev1.EnvVar{Name: "FACT", Value: fmt.Sprint(facts.Value(fact))})
			}
		}
		return objects, err
	}
}

// brokenFacts do not say, or do not say properly, what a change of a Shoot means.
var brokenFacts = []broken{
	{check: "changes", how: "a fact that restarts agents without a word", wrong: restartForMode,
		says: "DaemonSet kube-system/agent restarts when spec.kubernetes.kubeProxy.mode changes, and users get no warning; return a class other than safe for that change in Classify"},
	{check: "changes", how: "a class of a fact that does not exist", says: `Classify has the class "harmless" for spec.kubernetes.kubeProxy.mode`,
		plugin: restarting("harmless", "agents restart")},
	{check: "changes", how: "a fact that is declared to restart nothing", says: "restarts when spec.kubernetes.kubeProxy.mode changes, and users get no warning", plugin: restarting(plugin.Safe, "agents notice")},
	{check: "changes", how: "a fact without reason", says: "Classify has no reason why a change of spec.kubernetes.kubeProxy.mode", plugin: restarting(plugin.Rolling, " ")},
	{check: "changes", how: "a fact with a period", says: `ends with a period: "Agents restart."`, plugin: restarting(plugin.Rolling, "Agents restart.")},
	{check: "changes", how: "a class in some clusters that does not exist", says: `has the class "harmless" for mtu`, plugin: inCluster("harmless", "agents restart")},
	{check: "changes", how: "no reason in some clusters", says: "has no reason why a change of mtu is safe", plugin: inCluster(plugin.Safe, "")},
	{check: "changes", how: "a class that is not declared", says: "Classify says that a change of mode can be safe, and the Changes of Description do not",
		plugin: classified(nil, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
			if c.Path == "mode" && c.After.Config.Mode != nil && *c.After.Config.Mode == "routed" {
				return plugin.Safe, "routers notice"
			}
			return "", ""
		})},
	{check: "changes", how: "a class that is declared in vain", says: "declare that a change of mtu can be forbidden, and Classify never says so",
		wrong: func(f *fake[config]) { declaring(f, "mtu", plugin.Forbidden) }},
	{check: "changes", how: "a class for what is no field", says: "declare example, which is neither a field nor a fact", wrong: func(f *fake[config]) {
		describe := f.describe
		f.describe = func() plugin.Description {
			d := describe()
			d.Changes["example"] = nil
			return d
		}
	}},
	{check: "changes", how: "a panic in some clusters", says: "the sound plugin panicked at broken_facts_test.go:", plugin: classified(nil, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
		if !c.After.KubeProxy.Enabled && c.After.Config.Mode == nil { // of an old release
			_ = *c.Before.Config.Mode
		}
		return "", ""
	})},
	{check: "purity", how: "Classify changes the facts", says: "Classify changes the input", plugin: classified(nil, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
		c.Before.NodesAtLeast++
		return "", ""
	})},
	{check: "purity", how: "Classify of a fact changes the facts", says: "Classify changes the input", plugin: classified(nil, func(c plugin.Change[config]) (plugin.ChangeClass, string) {
		if c.Path == string(plugin.FactKubeProxy) {
			c.After.NodesAtMost = 7
		}
		return "", ""
	})},
}

func TestAPluginMayHaveClassesForFacts(t *testing.T) {
	NewWithT(t).Expect(problems(t, restarting(plugin.Rolling, "agents restart")(), soundOptions())).To(BeEmpty())
	NewWithT(t).Expect(problems(t, inCluster(plugin.Safe, "nothing uses it")(), soundOptions())).To(BeEmpty())
}

func TestEveryFactThatRestartsAgentsIsNoticed(t *testing.T) {
	for _, fact := range plugin.AllFacts() {
		t.Run(string(fact), func(t *testing.T) {
			g := NewWithT(t)
			f := sound()
			f.validateEffective = func(_, _ *config, _ *plugin.Input, _ *field.Path) plugin.Findings { return plugin.Findings{} } // also without kube-proxy
			restartFor(f, fact)
			s, err := newSuite(plugin.New[config](f), nil)
			g.Expect(err).NotTo(HaveOccurred())
			found := reportOn(s, check{"facts", func(s *suite, found *report) {
				(&classification{suite: s, report: found, given: sets.New[given]()}).checkFacts()
			}})
			g.Expect(found.problems).To(ContainElement(ContainSubstring("restarts when " + string(fact) + " changes, and users get no warning")))
		})
	}
}
