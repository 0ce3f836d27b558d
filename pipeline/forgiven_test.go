// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// What is wrong with a Shoot, and was so before, does not cover up what else its user changes.
func TestWhatIsForgivenCoversNothingUp(t *testing.T) {
	const config = "spec.networking.providerConfig."
	const changed = config + "mode: Forbidden: cannot change from routed to bridged in a running network"
	on := func(infrastructure string) func(*corev1beta1.Shoot) {
		return func(s *corev1beta1.Shoot) { s.Spec.Provider.Type = infrastructure }
	}
	type change = func(*corev1beta1.Shoot)
	for name, test := range map[string]struct {
		old, shoot change
		refused    string
	}{
		"a number that stays":                     {with(`{"mtu":7,"mode":"routed"}`), with(`{"mtu":7,"mode":"bridged"}`), changed},
		"a number that is mended":                 {with(`{"mtu":7,"mode":"routed"}`), with(`{"mtu":"7","mode":"bridged"}`), changed},
		"a number that is mended, and nothing":    {with(`{"mtu":7}`), with(`{"mtu":"7"}`), ""},
		"a number, and the default changes":       {with(`{"mtu":7}`), with(`{"mtu":7,"mode":"routed"}`), config + "mode: Forbidden: cannot change from bridged to routed"},
		"a number beside a value":                 {with(`{"mtu":7}`), with(`{"mtu":7,"mode":"flying"}`), config + `mode: Unsupported value: "flying"`},
		"a number becomes a wrong value":          {with(`{"mtu":7}`), with(`{"mtu":"0"}`), config + `mtu: Invalid value: "0": must be positive`},
		"a list instead of an object":             {with(`{"tunnel":[],"mode":"routed"}`), with(`{"tunnel":[],"mode":"bridged"}`), changed},
		"a version that stays":                    {with(`{"apiVersion":"nope/v1","mode":"routed"}`), with(`{"apiVersion":"nope/v1","mode":"bridged"}`), changed},
		"a version that is mended":                {with(`{"apiVersion":"nope/v1","mode":"routed"}`), with(`{"mode":"bridged"}`), changed},
		"a version that is mended, and nothing":   {with(`{"apiVersion":"nope/v1"}`), with(`{}`), ""},
		"a kind":                                  {with(`{"kind":"Nope","mode":"routed"}`), with(`{"kind":"Nope","mode":"bridged"}`), changed},
		"a number, and the routes go":             {both(on("island"), with(`{"mtu":7,"tunnel":{"enabled":true}}`)), both(on("island"), with(`{"mtu":7}`)), config + "tunnel.enabled: Forbidden: pods on different nodes would not reach each other"},
		"a number, and there were no routes":      {both(on("island"), with(`{"mtu":7}`)), both(on("island"), with(`{"mtu":"7"}`)), ""},
		"a number, and what needs kube-proxy now": {with(`{"mtu":7,"mode":"bridged"}`), both(with(`{"mtu":7,"mode":"bridged"}`), func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: new(false)} }), config + "mode: Forbidden: bridged mode needs kube-proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			review := newPipeline(t, noopPlugin{}).ReviewShoot(shoot(test.old), shoot(test.shoot), noEnvironment)
			g.Expect(lines(review.Errors)).To(HavePrefix(test.refused))
			g.Expect(review.Errors).To(HaveLen(min(len(test.refused), 1)))
			g.Expect(review.Warnings).NotTo(ContainElement(HaveField("Message", ContainSubstring("Internal error"))))
		})
	}
}

// Only so many errors are told one by one.
func TestMoreErrorsThanAreToldAreForgiven(t *testing.T) {
	g := NewWithT(t)
	var fields []string
	for i := range 150 {
		fields = append(fields, fmt.Sprintf(`"f%d":1`, i))
	}
	config := func(more ...string) func(*corev1beta1.Shoot) {
		return with(`{"mode":"routed",` + strings.Join(append(more, fields...), ",") + "}")
	}
	older := func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.Version = "1.35.0" }
	p := newPipeline(t, noopPlugin{})
	for name, old := range map[string]func(*corev1beta1.Shoot){
		"the same":            config(),
		"spelt otherwise":     config(`"mtu":null`, `"kind":""`),
		"and a value changes": config(`"mtu":"1400"`),
	} {
		review := p.ReviewShoot(shoot(both(old, older)), shoot(config()), noEnvironment)
		g.Expect(review.Errors).To(BeEmpty(), name)
		g.Expect(review.Warnings).To(ContainElement(HaveField("Message", ContainSubstring("has 50 more errors"))), name)
	}
	review := p.ReviewShoot(shoot(both(config(), older)), shoot(config(`"f150":1`)), noEnvironment)
	g.Expect(lines(review.Errors)).To(ContainSubstring("has 51 more errors"))
}

// A defect of a plugin may end the checks before what changes is compared.
func TestADefectCoversNoChangeOfTheNetworkUp(t *testing.T) {
	g := NewWithT(t)
	always, once := newPipeline(t, noopPlugin{breaks: "default"}), newPipeline(t, noopPlugin{breaks: "default beside bridged"})

	review := always.ReviewShoot(shoot(with(`{}`)), shoot(with(`{"mode":"bridged"}`)), noEnvironment)
	g.Expect(lines(review.Errors)).To(And(HavePrefix("spec.networking.providerConfig: Internal error: "), ContainSubstring("broken defaults")))

	review = once.ReviewShoot(shoot(with(`{"mode":"bridged"}`)), shoot(with(`{}`)), noEnvironment)
	g.Expect(review.Errors).To(BeEmpty(), "the defect was that of the Shoot before")
	g.Expect(review.Warnings).To(ConsistOf(HaveField("Message", And(
		HavePrefix("what the change does to the running network is unknown"), ContainSubstring("broken defaults"), HaveSuffix("make sure that the network is to become this one")))))
}
