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
	withMask := func(pods string, mask int32) func(*corev1beta1.Shoot) {
		return both(ranges(pods, ""), func(s *corev1beta1.Shoot) {
			s.Spec.Kubernetes.KubeControllerManager = &corev1beta1.KubeControllerManager{NodeCIDRMaskSize: &mask}
		})
	}
	const mask = "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSize: Forbidden: cannot change from "
	type change = func(*corev1beta1.Shoot)
	for name, test := range map[string]struct {
		old, shoot change
		refused    string
	}{
		"another range of pods":           {ranges("10.4.0.0/16", ""), ranges("10.5.0.0/16", ""), of + "pods: Forbidden: cannot change from 10.4.0.0/16 to 10.5.0.0/16 in a running network: the running pods have addresses from this range; write 10.4.0.0/16 again, or create a new cluster"},
		"another range of Services":       {ranges("", "10.4.0.0/16"), ranges("", "10.5.0.0/16"), of + "services: Forbidden: cannot change from 10.4.0.0/16 to 10.5.0.0/16 in a running network: the existing Services have addresses from this range; write 10.4.0.0/16 again, or create a new cluster"},
		"another than Gardener's default": {ranges("", ""), ranges("10.5.0.0/16", ""), of + "pods: Forbidden: cannot change from 100.96.0.0/11 to 10.5.0.0/16"},
		"Gardener's default":              {ranges("", ""), both(ranges("100.96.0.0/11", ""), with(`{}`)), ""},
		"another than is in use":          {both(ranges("10.4.0.0/16", ""), reporting("10.4.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.4.0.0/16")), of + "pods: Forbidden: cannot change"},
		"the one that is in use":          {both(ranges("10.4.0.0/16", ""), reporting("10.5.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.5.0.0/16")), ""},
		"neither is in use":               {both(ranges("10.4.0.0/16", ""), reporting("10.6.0.0/16")), both(ranges("10.5.0.0/16", ""), reporting("10.6.0.0/16")), of + "pods: Forbidden: cannot change"},
		"another spelling of it":          {ranges("10.4.7.0/16", ""), ranges("10.4.0.0/16", ""), ""},
		"what was no range":               {ranges("10.4.0.0", ""), ranges("10.4.0.0/16", ""), ""},
		"what becomes no range":           {ranges("10.4.0.0/16", ""), ranges("10.4.0.0", ""), of + `pods: Invalid value: "10.4.0.0": is no IP range`},
		"another length of nodes' ranges": {withMask("10.4.0.0/16", 25), withMask("10.4.0.0/16", 26), mask + "25 to 26 in a running network: the nodes have ranges of this length; write 25 again, or create a new cluster"},
		"another than the default":        {ranges("10.4.0.0/16", ""), withMask("10.4.0.0/16", 26), mask + "24 to 26"},
		"none any more":                   {withMask("10.4.0.0/16", 26), ranges("10.4.0.0/16", ""), mask + "26 to 24"},
		"the default":                     {ranges("10.4.0.0/16", ""), both(withMask("10.4.0.0/16", 24), with(`{}`)), ""},
		"one with which no node started":  {withMask("10.4.0.0/16", 15), withMask("10.4.0.0/16", 26), ""},
		"one that could not be":           {withMask("10.4.0.0/16", 64), withMask("10.4.0.0/16", 26), ""},
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
