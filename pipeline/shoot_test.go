// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// with returns a change of the Shoot's config.
func with(config string) func(*corev1beta1.Shoot) {
	return func(s *corev1beta1.Shoot) {
		s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
}

// both makes one change of several.
func both(changes ...func(*corev1beta1.Shoot)) func(*corev1beta1.Shoot) {
	return func(s *corev1beta1.Shoot) {
		for _, change := range changes {
			change(s)
		}
	}
}

func TestShootsAreReviewed(t *testing.T) {
	const config = "spec.networking.providerConfig."
	withoutProxy := func(s *corev1beta1.Shoot) { s.Spec.Kubernetes.KubeProxy = &corev1beta1.KubeProxy{Enabled: new(false)} }
	hibernated := func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: new(true)} }
	const annotation = "metadata.annotations[trellis.network/max-unavailable]"
	annotated := func(value, config string) func(*corev1beta1.Shoot) {
		return both(with(config), func(s *corev1beta1.Shoot) {
			s.Annotations = map[string]string{"trellis.network/max-unavailable": value}
		})
	}
	type change = func(*corev1beta1.Shoot)
	for name, test := range map[string]struct {
		old, shoot change // of no old Shoot nothing
		refused    string
		warned     []string
	}{
		"a new one":                              {nil, with(`{"mode":"routed"}`), "", nil},
		"a new one without a version":            {nil, with(`{"apiVersion":"","kind":""}`), "", nil},
		"unknown fields":                         {nil, with(`{"colour":"red"}`), config + "colour: Invalid value", nil},
		"wrong before and now":                   {with(`{"mtu":"0"}`), both(with(`{"mtu":"0"}`), hibernated), "", []string{config + `mtu: was so before, and would be refused in a new network: Invalid value: "0": must be positive`}},
		"wrong in another way":                   {with(`{"mtu":"0"}`), with(`{"mtu":"1400", "colour":"red"}`), config + "colour", nil},
		"mended":                                 {with(`{"mtu":"0"}`), with(`{"mtu":"1400"}`), "", []string{config + "mtu: the change from 0 to 1400 is rolling: the agents restart one by one"}},
		"undecodable before and now":             {with(`{"mtu":7}`), both(with(`{"mtu":7}`), hibernated), "", []string{config + "mtu: was so before, and would be refused in a new network: Invalid value: 7: must be a string, not a number; write it in quotes"}},
		"a forbidden change of a wrong one":      {with(`{"mtu":"0","mode":"routed"}`), with(`{"mtu":"0","mode":"bridged"}`), config + "mode: Forbidden: cannot change from routed to bridged", nil},
		"a wrong annotation, and now":            {annotated("x", `{"mtu":"1300"}`), both(annotated("x", `{"mtu":"1300"}`), hibernated), "", []string{annotation + ": Invalid value: \"x\": must be a whole number of nodes, 1 at least; write one such as \"2\", or remove the annotation"}},
		"a forbidden change with an annotation":  {annotated("x", `{"mode":"routed"}`), annotated("x", `{"mode":"bridged"}`), config + "mode: Forbidden: cannot change from routed to bridged", nil},
		"a forbidden change of an annotated one": {annotated("x", `{"mode":"routed"}`), annotated("3", `{"mode":"bridged"}`), config + "mode: Forbidden: cannot change from routed to bridged", nil},
		"an annotation that is wrong now":        {annotated("3", `{}`), annotated("x", `{"mtu":"1300"}`), annotation + ": Invalid value", nil},
		"a new one with a wrong annotation":      {nil, annotated("x", `{}`), annotation + ": Invalid value", nil},
		"a disruptive change":                    {with(`{}`), withoutProxy, "", []string{"spec.kubernetes.kubeProxy.enabled: the change from true to false is disruptive: the agents take over from kube-proxy"}},
		"a fact that is wrong now":               {with(`{"mode":"bridged"}`), both(with(`{"mode":"bridged"}`), withoutProxy), config + "mode: Forbidden: bridged mode needs kube-proxy", nil},
		"another type": {func(s *corev1beta1.Shoot) { s.Spec.Networking.Type = new("other") }, with(`{}`),
			"spec.networking.type: Forbidden: cannot change from other to noop in a running network: the network plugin has set up the interfaces of the running pods; write other again, or create a new cluster", nil},
		"no type any more": {with(`{}`), func(s *corev1beta1.Shoot) { s.Spec.Networking.Type = nil },
			"spec.networking.type: Forbidden: cannot change from noop to absent in a running network: ", nil},
		"unchanged":             {with(`{"mtu":"0"}`), with(`{"mtu": "0"}`), "", nil},
		"deleted":               {with(`{"mtu":"1"}`), both(with(`{"mtu":"0"}`), func(s *corev1beta1.Shoot) { s.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0))) }), "", nil},
		"workerless":            {nil, both(with(`{"mtu":"0"}`), func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers = nil }), "", nil},
		"gets workers":          {func(s *corev1beta1.Shoot) { s.Spec.Provider.Workers = nil }, with(`{"mtu":"0"}`), config + "mtu", nil},
		"with a status already": {nil, both(with(`{}`), func(s *corev1beta1.Shoot) { s.UID = "7" }), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var old *corev1beta1.Shoot
			if test.old != nil {
				old = shoot(test.old)
			}
			review := newPipeline(t, noopPlugin{}).ReviewShoot(old, shoot(test.shoot), noEnvironment)
			g.Expect(lines(review.Errors)).To(HavePrefix(test.refused))
			g.Expect(review.Errors).To(HaveLen(min(len(test.refused), 1)))
			var warned []string
			for _, warning := range review.Warnings {
				warned = append(warned, warning.String())
			}
			if test.refused == "" {
				g.Expect(warned).To(Equal(test.warned))
			}
		})
	}
}

// A defect of a plugin that a Shoot runs into already does not keep users from changing it.
func TestADefectOfBeforeIsAWarning(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{breaks: "default"})
	hibernated := func(s *corev1beta1.Shoot) { s.Spec.Hibernation = &corev1beta1.Hibernation{Enabled: new(true)} }
	review := p.ReviewShoot(shoot(with(`{}`)), shoot(both(with(`{}`), hibernated)), noEnvironment)
	g.Expect(review.Errors).To(BeEmpty())
	g.Expect(review.Warnings).To(ConsistOf(HaveField("Message", ContainSubstring("broken defaults"))))
	g.Expect(p.ReviewShoot(nil, shoot(with(`{}`)), noEnvironment).Errors).To(HaveLen(1))
}

// Neither Shoot is changed by a review.
func TestReviewsChangeNothing(t *testing.T) {
	g := NewWithT(t)
	old, now := shoot(with(`{"mtu":"1300"}`)), shoot(with(`{"mtu":"1400"}`))
	newPipeline(t, noopPlugin{}).ReviewShoot(old, now, noEnvironment)
	g.Expect([]*corev1beta1.Shoot{old, now}).To(Equal([]*corev1beta1.Shoot{shoot(with(`{"mtu":"1300"}`)), shoot(with(`{"mtu":"1400"}`))}))
}

// Who is asked whether to admit a Shoot also learns how its packets travel.
func TestAReviewTellsHowPacketsTravel(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	built := p.Build(p.NewRequest(network(""), shoot(with(`{}`)), noEnvironment))
	g.Expect(built.DataPath).NotTo(BeEmpty())
	for old, now := range map[*corev1beta1.Shoot]*corev1beta1.Shoot{nil: shoot(with(`{}`)), shoot(with(`{"mtu":"1300"}`)): shoot(with(`{}`))} {
		g.Expect(p.ReviewShoot(old, now, noEnvironment).DataPath).To(Equal(built.DataPath))
	}
	g.Expect(p.ReviewShoot(nil, shoot(with(`{"mtu":"0"}`)), noEnvironment).DataPath).To(BeEmpty(), "it is refused")
}
