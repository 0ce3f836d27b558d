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
		for _, object := range objects.Shoot {
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
	{promise: "purity", how: "ClassifyFact changes the facts", says: "ClassifyFact changes the facts", plugin: func() plugin.Plugin {
		return plugin.New[config](attentive{sound(), func(_ plugin.Fact, _, after plugin.Situation[config]) (plugin.ChangeClass, string) {
			after.Facts.NodesAtMost = 7
			return "", ""
		}})
	}},
}

func TestWhoeverTellsWhatAFactMeansKeepsThePromise(t *testing.T) {
	NewWithT(t).Expect(problems(t, telling(plugin.Rolling, "agents restart")(), soundOptions())).To(BeEmpty())
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
