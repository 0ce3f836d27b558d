// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, podCIDR, address string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: podCIDR}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}
	return n
}

func settingsOf(t *testing.T, ipam string) *settings {
	t.Helper()
	s, err := settingsFrom(func(name string) string {
		return map[string]string{"NODE_NAME": "a", "GARDENET_POD_CIDR": "100.96.0.0/11", "GARDENET_IPAM_CIDR": ipam}[name]
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

func TestEachOtherNodeGetsARoute(t *testing.T) {
	g := NewWithT(t)
	nodes := []any{
		node("a", "100.96.0.0/24", "10.250.0.11"), node("b", "100.96.1.0/24", "10.250.0.12"),
		node("new", "", "10.250.0.13"), node("without address", "100.96.2.0/24", ""), node("of IPv6", "100.96.3.0/24", "fd00::1"),
		node("of another range", "100.128.0.0/24", "10.250.0.14"),
	}
	own, others, err := settingsOf(t, "usePodCIDR").plan(nodes)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(own).To(Equal(netip.MustParsePrefix("100.96.0.0/24")))
	g.Expect(others).To(Equal(map[netip.Prefix]netip.Addr{netip.MustParsePrefix("100.96.1.0/24"): netip.MustParseAddr("10.250.0.12")}))
	_, _, err = settingsOf(t, "usePodCIDR").plan(nodes[1:])
	g.Expect(err).To(MatchError(`there is no node "a"`))
	_, _, err = settingsOf(t, "usePodCIDR").plan([]any{node("a", "", "10.250.0.11")})
	g.Expect(err).To(MatchError(ContainSubstring("the node has no range of pods: spec.podCIDR")))
}

func TestEachNodeHasAPartOfARange(t *testing.T) {
	g := NewWithT(t)
	s := settingsOf(t, "10.1.0.0/16")
	for podCIDR, part := range map[string]string{"100.96.0.0/24": "10.1.0.0/29", "100.96.1.0/24": "10.1.0.8/29", "100.127.255.0/24": "10.1.255.248/29"} {
		got, err := s.partOf(podCIDR)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.String()).To(Equal(part), podCIDR)
	}
	_, err := s.partOf("100.96.0.0/26")
	g.Expect(err).To(MatchError("spec.podCIDR 100.96.0.0/26 is not in 100.96.0.0/11, or leaves no addresses in 10.1.0.0/16"))
}

func TestTheAgentNeedsItsSettings(t *testing.T) {
	for missing, want := range map[string]string{"NODE_NAME": "NODE_NAME must be", "GARDENET_POD_CIDR": "GARDENET_POD_CIDR: ", "GARDENET_IPAM_CIDR": "GARDENET_IPAM_CIDR: "} {
		_, err := settingsFrom(func(name string) string {
			if name == missing {
				return ""
			}
			return map[string]string{"NODE_NAME": "a", "GARDENET_POD_CIDR": "100.96.0.0/11", "GARDENET_IPAM_CIDR": "10.1.0.0/16"}[name]
		})
		NewWithT(t).Expect(err).To(MatchError(HavePrefix(want)))
	}
}
