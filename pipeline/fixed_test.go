// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
)

// The ranges of a cluster that exists stay, whatever its plugin would do with others.
func TestARunningNetworkKeepsItsRanges(t *testing.T) {
	const of = "spec.networking."
	ranges := func(pods, services string) func(*corev1beta1.Shoot) {
		return func(s *corev1beta1.Shoot) {
			s.Spec.Networking.Pods, s.Spec.Networking.Services = nil, nil
			if pods != "" {
				s.Spec.Networking.Pods = &pods
			}
			if services != "" {
				s.Spec.Networking.Services = &services
			}
		}
	}
	reporting := func(pods string) func(*corev1beta1.Shoot) {
		return func(s *corev1beta1.Shoot) { s.Status.Networking = &corev1beta1.NetworkingStatus{Pods: []string{pods}} }
	}
	type change = func(*corev1beta1.Shoot)
	for name, test := range map[string]struct {
		old, shoot change
		refused    string
	}{
		"another range of pods":           {ranges("10.4.0.0/16", ""), ranges("10.5.0.0/16", ""), of + "pods: Forbidden: cannot change from 10.4.0.0/16 to 10.5.0.0/16 in a running network: the running pods have addresses from this range"},
		"another range of Services":       {ranges("", "10.4.0.0/16"), ranges("", "10.5.0.0/16"), of + "services: Forbidden: cannot change from 10.4.0.0/16 to 10.5.0.0/16 in a running network: the existing Services have addresses from this range"},
		"another than Gardener's default": {ranges("", ""), ranges("10.5.0.0/16", ""), of + "pods: Forbidden: cannot change from 100.96.0.0/11 to 10.5.0.0/16"},
		"Gardener's default":              {ranges("", ""), both(ranges("100.96.0.0/11", ""), with(`{}`)), ""},
		"another than is in use":          {both(ranges("10.4.0.0/16", ""), reporting("10.4.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.4.0.0/16")), of + "pods: Forbidden: cannot change"},
		"the one that is in use":          {both(ranges("10.4.0.0/16", ""), reporting("10.5.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.5.0.0/16")), ""},
		"neither is in use":               {both(ranges("10.4.0.0/16", ""), reporting("10.6.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.6.0.0/16")), of + "pods: Forbidden: cannot change"},
		"another spelling of it":          {ranges("10.4.7.0/16", ""), ranges("10.4.0.0/16", ""), ""},
		"what was no range":               {ranges("10.4.0.0", ""), ranges("10.4.0.0/16", ""), ""},
		"what becomes no range":           {ranges("10.4.0.0/16", ""), ranges("10.4.0.0", ""), of + `pods: Invalid value: "10.4.0.0": is no IP range`},
		"beside what was wrong":           {both(ranges("10.4.0.0/16", ""), with(`{"mtu":7}`)), both(ranges("10.5.0.0/16", ""), with(`{"mtu":7}`)), of + "pods: Forbidden: cannot change"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			review := newPipeline(t, noopPlugin{}).ReviewShoot(shoot(test.old), shoot(test.shoot), noEnvironment)
			g.Expect(lines(review.Errors)).To(HavePrefix(test.refused))
			g.Expect(review.Errors).To(HaveLen(min(len(test.refused), 1)))
		})
	}
}
