// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// A user who mends a part of what is wrong is not refused, and one who makes it worse is.
func TestAStepTowardsWhatIsRightIsNotRefused(t *testing.T) {
	growingTo := func(pods string, most, mask int32) func(*corev1beta1.Shoot) {
		return func(s *corev1beta1.Shoot) {
			s.Spec.Networking.Pods, s.Spec.Networking.Services = &pods, new("192.0.2.0/24")
			s.Spec.Provider.Workers[0].Maximum = most
			s.Spec.Kubernetes.KubeControllerManager = &corev1beta1.KubeControllerManager{NodeCIDRMaskSize: &mask}
		}
	}
	const range4 = "10.1.0.0/22" // for four nodes with a /24 each
	for name, test := range map[string]struct {
		old, shoot func(*corev1beta1.Shoot)
		refused    []string
		warned     string
	}{
		"as many nodes too many": {growingTo(range4, 6, 24), both(growingTo(range4, 6, 24), with(`{"mtu":"1300"}`)), nil, "room for 4 nodes, of which each gets a /24, and the workers can grow to 6"},
		"fewer, but too many":    {growingTo(range4, 6, 24), growingTo(range4, 5, 24), nil, "room for 4 nodes, of which each gets a /24, and the workers can grow to 5"},
		"no longer too many":     {growingTo(range4, 6, 24), growingTo(range4, 4, 24), nil, ""},
		"more":                   {growingTo(range4, 6, 24), growingTo(range4, 7, 24), []string{"the workers can grow to 7"}, ""},
		"less room":              {growingTo(range4, 6, 24), growingTo(range4, 6, 23), []string{"room for 2 nodes", "nodeCIDRMaskSize: Forbidden: cannot change from 24 to 23"}, ""},
		"no room at all, fewer":  {growingTo(range4, 6, 20), growingTo(range4, 5, 20), nil, "has no room for a node"},
		"room for some":          {growingTo(range4, 6, 20), growingTo(range4, 6, 24), nil, "room for 4 nodes"},
		"right before":           {growingTo(range4, 4, 24), growingTo(range4, 5, 24), []string{"the workers can grow to 5"}, ""},
		"wrong in another way":   {growingTo(range4, 6, 24), growingTo(range4, 6, 33), []string{"nodeCIDRMaskSize: Invalid value: 33: must be from 1 to 30"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			review := newPipeline(t, noopPlugin{}).ReviewShoot(shoot(test.old), shoot(test.shoot), noEnvironment)
			for _, refused := range test.refused {
				g.Expect(lines(review.Errors)).To(ContainSubstring(refused))
			}
			g.Expect(review.Errors).To(HaveLen(len(test.refused)))
			if test.warned == "" {
				g.Expect(review.Warnings).NotTo(ContainElement(HaveField("Message", ContainSubstring("was so before"))))
				return
			}
			g.Expect(review.Warnings).To(ContainElement(HaveField("String()", And(
				HavePrefix("spec.networking.pods: was so before, and would be refused in a new network: "), ContainSubstring(test.warned)))))
		})
	}
}

// What is wrong in a list stays the same where the place in the list changes, but what is wrong
// twice is more than what was wrong once.
func TestWhatIsWrongInAListIsCounted(t *testing.T) {
	p := newPipeline(t, noopPlugin{})
	for name, test := range map[string]struct {
		before, after []string
		refused       string
	}{
		"in another place": {[]string{"10.1.0.0/16", "nonsense"}, []string{"nonsense"}, ""},
		"once less":        {[]string{"nonsense", "nonsense"}, []string{"nonsense"}, ""},
		"once more":        {[]string{"nonsense"}, []string{"nonsense", "nonsense"}, `status.networking.pods[1]: Invalid value: "nonsense"`},
		"another":          {[]string{"nonsense"}, []string{"folly"}, `status.networking.pods[0]: Invalid value: "folly"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := p.NewRequest(network(""), nil, noEnvironment)
			request.TakenOver = request.Accepted()
			request.TakenOver.Facts.PodCIDRs, request.Facts.PodCIDRs = test.before, test.after
			g.Expect(lines(p.Build(request).Errors)).To(ContainSubstring(test.refused))
			g.Expect(p.Build(request).Errors).To(HaveLen(min(len(test.refused), 1)))
		})
	}
}

// A part that cannot be decoded hides no other error, neither before nor now.
func TestWhatCannotBeDecodedHidesNothing(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	const config = `{"colour":"red","mode":"odd","mtu":"1300"}`
	review := p.ReviewShoot(shoot(with(config)), shoot(with(strings.Replace(config, "1300", "1400", 1))), noEnvironment)
	g.Expect(review.Errors).To(BeEmpty())
	const before = "was so before, and would be refused in a new network: "
	g.Expect(review.Warnings).To(ConsistOf(
		HaveField("Message", HavePrefix(before+`Invalid value: "red"`)),
		HaveField("Message", HavePrefix(before+`Unsupported value: "odd"`)),
		HaveField("Message", HavePrefix("the change from 1300 to 1400 is rolling"))))
}
