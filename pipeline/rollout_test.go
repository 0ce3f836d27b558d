// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
)

// rollout is on how many nodes agents may be missing in a cluster that grows and
// shrinks so.
func rollout(p *pipeline.Pipeline, annotation string, nodes ...int32) (budgets []int32) {
	var applied *pipeline.Applied
	for _, n := range nodes {
		request := p.NewRequest(network(""), nil, noEnvironment)
		request.Nodes, request.Applied, request.MaxUnavailable = n, applied, annotation
		result := p.Build(request)
		applied = result.Applied()
		budgets = append(budgets, applied.Accepted.Decisions.MaxUnavailable)
	}
	return budgets
}

func TestARollOutTakesATenthOfTheNodesAtATime(t *testing.T) {
	for name, test := range map[string]struct{ nodes, want []int32 }{
		"the number of nodes is unknown": {[]int32{0}, []int32{2}},
		"few nodes":                      {[]int32{1}, []int32{2}},
		"twenty nodes":                   {[]int32{20}, []int32{2}},
		"one more":                       {[]int32{21}, []int32{3}},
		"many nodes":                     {[]int32{1000}, []int32{100}},
		"a node joins":                   {[]int32{20, 21, 25, 26}, []int32{2, 2, 2, 3}},
		"and leaves again":               {[]int32{26, 20, 16, 15}, []int32{3, 3, 3, 2}},
		"large ones breathe":             {[]int32{200, 215, 181, 260}, []int32{20, 20, 20, 26}},
		"nodes cannot be seen":           {[]int32{200, 0}, []int32{20, 20}},
		"a new cluster grows":            {[]int32{0, 50}, []int32{2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(rollout(newPipeline(t, noopPlugin{}), "", test.nodes...)).To(Equal(test.want))
		})
	}
}

// However a cluster changes, what is in force is right for a number of nodes near to
// that which it has; and while that does not change, nothing does.
func TestARollOutFollowsTheNodes(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.Int32Range(1, 5000), 1, 6).Draw(t, "nodes")
		nodes = append(nodes, nodes[len(nodes)-1])
		budgets := rollout(p, "", nodes...)
		for i, n := range nodes {
			if slack := max(5, n/10) + 10; budgets[i] < max(2, (n-slack)/10) || budgets[i] > max(2, (n+slack)/10) {
				t.Fatalf("%d nodes: %d at a time", n, budgets[i])
			}
		}
		if last := len(budgets) - 1; budgets[last] != budgets[last-1] {
			t.Fatalf("%v nodes: %v at a time", nodes, budgets)
		}
	})
}

func TestAnAnnotationGoesBeforeTheNumberOfNodes(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	g.Expect(rollout(p, "1", 200)).To(Equal([]int32{1}))
	g.Expect(rollout(p, "500", 200)).To(Equal([]int32{500}))

	var applied *pipeline.Applied
	for _, step := range []struct {
		annotation  string
		nodes, want int32
	}{{"50", 0, 50}, {"", 0, 2}, {"50", 200, 50}, {"", 200, 20}, {"", 0, 20}, {"3", 21, 3}, {"", 15, 2}} {
		request := p.NewRequest(network(""), nil, noEnvironment)
		request.Nodes, request.Applied, request.MaxUnavailable = step.nodes, applied, step.annotation
		result := p.Build(request)
		applied = result.Applied()
		g.Expect(applied.Accepted.Decisions.MaxUnavailable).To(Equal(step.want), "%v", step)
	}

	annotated := network("")
	annotated.Annotations = map[string]string{extensionsv1alpha1.MaxUnavailableAnnotation: "7"}
	cluster := shoot(func(s *corev1beta1.Shoot) {
		s.Annotations = map[string]string{extensionsv1alpha1.MaxUnavailableAnnotation: "9"}
	})
	g.Expect(p.NewRequest(annotated, cluster, noEnvironment).MaxUnavailable).To(Equal("7"))
	g.Expect(p.NewRequest(network(""), cluster, noEnvironment).MaxUnavailable).To(Equal("9"))

	for _, wrong := range []string{"0", "-1", "10%", "two", "1.5", "99999999999", "+3", "007", " 3"} {
		annotated.Annotations[extensionsv1alpha1.MaxUnavailableAnnotation] = wrong
		result := p.Build(p.NewRequest(annotated, nil, noEnvironment))
		g.Expect(result.Errors).To(HaveLen(1))
		g.Expect(result.Errors[0].Error()).To(Equal("metadata.annotations[trellis.network/max-unavailable]: Invalid value: \"" +
			wrong + "\": must be a whole number of nodes, 1 at least; write one such as \"2\", or remove the annotation"))
	}
}
