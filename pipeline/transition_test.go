// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// kinds are those of tunnels, in a line. Nodes understand each other with those beside it.
const kinds = "abcd"

// steppingPlugin goes along the line. The last kind needs nodes that are dry.
type steppingPlugin struct {
	noopPlugin
	// stumbles makes it jump over a kind.
	stumbles bool
}

func kindOf(c *noopConfig) int {
	if c.Tunnel != nil {
		for i, kind := range kinds {
			if c.Tunnel.Kind == string(kind) {
				return i
			}
		}
	}
	return -1
}

func (p steppingPlugin) Transition(before, after plugin.State[noopConfig]) []plugin.Step[noopConfig] {
	var steps []plugin.Step[noopConfig]
	at, to := kindOf(before.Config), kindOf(after.Config)
	if p.stumbles && at >= 0 {
		at++
	}
	for at >= 0 && to > at {
		at++
		config := *after.Config
		config.Tunnel = &tunnel{Enabled: after.Config.Tunnel.Enabled, Kind: kinds[at : at+1]}
		step := plugin.Step[noopConfig]{Name: "kind " + config.Tunnel.Kind, Config: &config}
		if config.Tunnel.Kind == "d" {
			step.Precondition = &plugin.Precondition{Condition: "Dry", Status: corev1.ConditionTrue, Reason: "Observed", Explanation: "tunnels of this kind leak"}
		}
		steps = append(steps, step)
	}
	return steps
}

func (p steppingPlugin) Classify(change plugin.Change[noopConfig]) (plugin.ChangeClass, string) {
	if change.Path == "tunnel.kind" {
		if distance := kindOf(change.After.Config) - kindOf(change.Before.Config); distance > 1 || distance < -1 {
			return plugin.Disruptive, "nodes do not understand each other"
		}
		return plugin.Rolling, "nodes understand both kinds"
	}
	return p.noopPlugin.Classify(change)
}

// stepped builds a network, and the Request for its change.
func stepped(t *testing.T, definition steppingPlugin, before, after string) (*pipeline.Pipeline, pipeline.Request) {
	t.Helper()
	p, err := pipeline.New([]plugin.Plugin{plugin.New[noopConfig](definition)}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	first := p.Build(p.NewRequest(network(before), nil, plugin.Environment{}))
	NewWithT(t).Expect(first.Errors).To(BeEmpty())
	request := p.NewRequest(network(after), nil, plugin.Environment{})
	request.Applied = first.Applied()
	return p, request
}

func namesOf(way *pipeline.Transition) (names []string) {
	if way == nil {
		return nil
	}
	for _, step := range way.Steps {
		names = append(names, step.Name)
	}
	return names
}

const kindA, kindC, kindD = `{"tunnel":{"kind":"a"}}`, `{"tunnel":{"kind":"c"}}`, `{"tunnel":{"kind":"d"}}`

func TestADisruptiveChangeHasSteps(t *testing.T) {
	g := NewWithT(t)
	p, request := stepped(t, steppingPlugin{}, kindA, kindD)
	result := p.Build(request)
	g.Expect(result.Errors).To(BeEmpty())
	g.Expect(result.Transition.IsNeeded()).To(BeTrue())
	g.Expect(result.Transition.From + " to " + result.Transition.To).To(Equal("no encapsulation to no encapsulation"))
	raw, err := json.Marshal(result.Transition.Steps)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(raw).To(MatchJSON(`[
		{"name": "kind b", "waitsFor": "the agents of all nodes run what was written last"},
		{"name": "kind c", "waitsFor": "the agents of all nodes run the step before, and pods talk"},
		{"name": "kind d", "waitsFor": "the agents of all nodes run the step before, and pods talk, and each node has the condition Dry=True with the reason Observed, because tunnels of this kind leak"}]`))
	g.Expect(result.Transition.String()).To(Equal("the change is made in 3 steps, each of which begins once pods talk with the one before: (1) kind b, (2) kind c, (3) kind d"))
}

// The operator asks for the steps that are left.
func TestStepsBeginAtWhatWasWrittenLast(t *testing.T) {
	g := NewWithT(t)
	p, request := stepped(t, steppingPlugin{}, kindA, kindD)
	request.Present = json.RawMessage(`{"mode":"routed","mtu":"1400","tunnel":{"enabled":false,"kind":"b"}}`)
	g.Expect(namesOf(p.Build(request).Transition)).To(Equal([]string{"kind c", "kind d"}))
	request.Present = json.RawMessage(`{"mode":"routed","mtu":"1400","tunnel":{"enabled":false,"kind":"c"}}`)
	last := p.Build(request).Transition
	g.Expect(namesOf(last)).To(Equal([]string{"kind d"}))
	g.Expect(last.IsNeeded()).To(BeTrue(), "it waits for nodes")
	_, request = stepped(t, steppingPlugin{}, `{"tunnel":{"kind":"b"}}`, kindC)
	g.Expect(p.Build(request).Transition.IsNeeded()).To(BeFalse())
}

func TestAStepIsBuiltInPlaceOfTheSpec(t *testing.T) {
	g := NewWithT(t)
	before, after := steppingPlugin{}, steppingPlugin{}
	before.defaultMTU, after.defaultMTU = "1400", "1500"
	_, request := stepped(t, before, kindA, kindC)
	p, err := pipeline.New([]plugin.Plugin{plugin.New[noopConfig](after)}, nil)
	g.Expect(err).NotTo(HaveOccurred())

	request.Step = p.Build(request).Transition.Steps[0].Config
	step := p.Build(request)
	g.Expect(step.Errors).To(BeEmpty())
	g.Expect(step.Warnings).To(BeEmpty(), "that the spec is not in force yet is no news")
	g.Expect(step.Transition).To(BeNil())
	g.Expect([]any{step.Values["tunnel.kind"], step.Values["mtu"]}).To(Equal([]any{"b", "1400"}))
	g.Expect(step.Origins["tunnel.kind"].String()).To(Equal("rule: a step on the way to what the spec asks for"))
	g.Expect(step.Changes).To(HaveLen(1))
	g.Expect(step.Changes[0].Class).To(Equal(plugin.Rolling))

	again := request.Repeat(step.Applied())
	g.Expect(p.Build(again).Config).To(Equal(step.Config), "what was written is known")
	request.Applied, request.Step = step.Applied(), nil
	last := p.Build(request)
	g.Expect([]any{last.Values["tunnel.kind"], last.Values["mtu"]}).To(Equal([]any{"c", "1400"}), "a running network is never shifted")
}

func TestWhatIsMadeAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*pipeline.Request)
		plugin  steppingPlugin
		because string
	}{
		"a new network":             {change: func(r *pipeline.Request) { r.Applied = nil }},
		"what is wanted at once":    {change: func(r *pipeline.Request) { r.AtOnce = true }},
		"a cluster that sleeps":     {change: func(r *pipeline.Request) { r.Facts.Hibernated = true }},
		"a disruptive fact":         {change: func(r *pipeline.Request) { r.Facts.KubeProxy.Enabled = false }, because: "a change of spec.kubernetes.kubeProxy.enabled is disruptive"},
		"a step that is disruptive": {plugin: steppingPlugin{stumbles: true}, because: `the step "kind c" is disruptive: a change of tunnel.kind is disruptive: nodes do not understand each other`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, request := stepped(t, test.plugin, kindA, kindD)
			if test.change != nil {
				test.change(&request)
			}
			result := p.Build(request)
			g.Expect(result.Errors).To(BeEmpty())
			g.Expect(result.Transition).To(BeNil())
			if test.because == "" {
				g.Expect(result.NotInSteps).To(BeNil())
			} else {
				g.Expect(result.NotInSteps).To(HaveField("Reason", test.because))
			}
		})
	}
}
