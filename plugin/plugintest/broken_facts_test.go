// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/plugin"
)

// attentive says what changes of facts mean.
type attentive struct {
	*fake[config]
	classifyFact func(fact plugin.Fact, before, after plugin.Situation[config]) (plugin.ChangeClass, string)
}

func (a attentive) ClassifyFact(fact plugin.Fact, before, after plugin.Situation[config]) (plugin.ChangeClass, string) {
	return a.classifyFact(fact, before, after)
}

// local says what changes of values mean in a cluster.
type local struct {
	*fake[config]
	classifyIn func(path string, before, after plugin.Situation[config]) (plugin.ChangeClass, string)
}

func (l local) ClassifyIn(path string, before, after plugin.Situation[config]) (plugin.ChangeClass, string) {
	return l.classifyIn(path, before, after)
}

// inCluster tells what a change of mtu means where there is no kube-proxy.
func inCluster(class plugin.ChangeClass, reason string) func() plugin.Plugin {
	return func() plugin.Plugin {
		return plugin.New[config](local{sound(), func(path string, before, after plugin.Situation[config]) (plugin.ChangeClass, string) {
			if path == "mtu" && !before.Facts.KubeProxy.Enabled && !after.Facts.KubeProxy.Enabled {
				return class, reason
			}
			return "", ""
		}})
	}
}

// telling tells agents of kube-proxy's mode, which restarts them.
func telling(class plugin.ChangeClass, reason string) func() plugin.Plugin {
	return func() plugin.Plugin {
		f := sound()
		tellMode(f)
		return plugin.New[config](attentive{f, func(fact plugin.Fact, _, _ plugin.Situation[config]) (plugin.ChangeClass, string) {
			if fact == plugin.FactKubeProxyMode {
				return class, reason
			}
			return "", ""
		}})
	}
}

func tellMode(f *fake[config]) { tell(f, plugin.FactKubeProxyMode) }

// tell tells agents of a fact, which restarts them.
func tell(f *fake[config], fact plugin.Fact) {
	inner := f.render
	f.render = func(c *config, facts *plugin.Facts) (plugin.Objects, error) {
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
	{promise: "changes", how: "a fact that restarts agents without a word", wrong: tellMode,
		says: "DaemonSet kube-system/agent restarts when spec.kubernetes.kubeProxy.mode changes, of which nobody is told; implement plugin.FactClassifier"},
	{promise: "changes", how: "a class of a fact that there is not", says: `ClassifyFact has the class "harmless" for spec.kubernetes.kubeProxy.mode`,
		plugin: telling("harmless", "agents restart")},
	{promise: "changes", how: "a fact that is said to restart nothing", says: "restarts when spec.kubernetes.kubeProxy.mode changes, of which nobody is told", plugin: telling(plugin.Safe, "agents notice")},
	{promise: "changes", how: "a fact without reason", says: "ClassifyFact has no reason why a change of spec.kubernetes.kubeProxy.mode", plugin: telling(plugin.Rolling, " ")},
	{promise: "changes", how: "a fact with a period", says: `ends with a period: "Agents restart."`, plugin: telling(plugin.Rolling, "Agents restart.")},
	{promise: "changes", how: "a class in some clusters that there is not", says: `has the class "harmless" for mtu`, plugin: inCluster("harmless", "agents restart")},
	{promise: "changes", how: "no reason in some clusters", says: "has no reason why a change of mtu is safe", plugin: inCluster(plugin.Safe, "")},
	{promise: "changes", how: "a panic in some clusters", says: "the plugin panicked in ClassifyIn at broken_facts_test.go:", plugin: func() plugin.Plugin {
		return plugin.New[config](local{sound(), func(_ string, before, after plugin.Situation[config]) (plugin.ChangeClass, string) {
			if before.Config.Mode == nil && after.Config.Mode == nil { // of an old release
				_ = *before.Config.Mode
			}
			return "", ""
		}})
	}},
	{promise: "purity", how: "ClassifyIn changes the facts", says: "ClassifyIn changes the facts", plugin: func() plugin.Plugin {
		return plugin.New[config](local{sound(), func(_ string, before, _ plugin.Situation[config]) (plugin.ChangeClass, string) {
			before.Facts.NodesAtLeast++
			return "", ""
		}})
	}},
	{promise: "purity", how: "ClassifyFact changes the facts", says: "ClassifyFact changes the facts", plugin: func() plugin.Plugin {
		return plugin.New[config](attentive{sound(), func(_ plugin.Fact, _, after plugin.Situation[config]) (plugin.ChangeClass, string) {
			after.Facts.NodesAtMost = 7
			return "", ""
		}})
	}},
}

func TestWhoeverTellsWhatAFactMeansKeepsThePromise(t *testing.T) {
	NewWithT(t).Expect(problems(t, telling(plugin.Rolling, "agents restart")(), soundOptions())).To(BeEmpty())
	NewWithT(t).Expect(problems(t, inCluster(plugin.Safe, "nothing uses it")(), soundOptions())).To(BeEmpty())
}

func TestEveryFactThatRestartsAgentsIsNoticed(t *testing.T) {
	for _, fact := range plugin.AllFacts() {
		t.Run(string(fact), func(t *testing.T) {
			g := NewWithT(t)
			f := sound()
			f.validateEffective = func(_, _ *config, _ *plugin.Facts, _ *field.Path) plugin.Findings { return plugin.Findings{} } // also without kube-proxy
			tell(f, fact)
			s, err := newSuite(plugin.New[config](f), nil)
			g.Expect(err).NotTo(HaveOccurred())
			found := &report{}
			s.checkFacts(found)
			g.Expect(found.problems).To(ContainElement(ContainSubstring("restarts when " + string(fact) + " changes, of which nobody is told")))
		})
	}
}
