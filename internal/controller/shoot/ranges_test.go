// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// withRanges returns an Infrastructure that is ready.
func withRanges(nodesCIDR string, networking extensionsv1alpha1.InfrastructureStatusNetworking) *extensionsv1alpha1.Infrastructure {
	i := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "two", CreationTimestamp: metav1.NewTime(time.Unix(1, 0))}}
	i.Status.LastOperation = &corev1beta1.LastOperation{State: "Succeeded", LastUpdateTime: metav1.NewTime(time.Unix(2, 0))}
	i.Status.Networking = &networking
	if nodesCIDR != "" {
		i.Status.NodesCIDR = &nodesCIDR
	}
	return i
}

func inUse(pods, services, nodes string) *corev1beta1.NetworkingStatus {
	return &corev1beta1.NetworkingStatus{Pods: strings.Fields(pods), Services: strings.Fields(services), Nodes: strings.Fields(nodes)}
}

func TestAShootUsesTheRangesOfItsInfrastructure(t *testing.T) {
	type reported = extensionsv1alpha1.InfrastructureStatusNetworking
	const pods, services = "100.96.0.0/11", "100.64.0.0/13"
	of := func(pods, services, nodes string) reported {
		r := inUse(pods, services, nodes)
		return reported{Pods: r.Pods, Services: r.Services, Nodes: r.Nodes}
	}
	processing := func(i *extensionsv1alpha1.Infrastructure) *extensionsv1alpha1.Infrastructure {
		i.Status.LastOperation.State = "Processing"
		return i
	}
	for name, test := range map[string]struct {
		families       string
		nodes          string
		before         *corev1beta1.NetworkingStatus
		infrastructure *extensionsv1alpha1.Infrastructure
		want           *corev1beta1.NetworkingStatus
	}{
		"nothing reported": {"IPv4", "10.1.0.0/16", nil, withRanges("", reported{}), inUse(pods, services, "10.1.0.0/16")},
		"nodes":            {"IPv4", "", nil, withRanges("", of("", "", "10.2.0.0/16 10.3.0.0/16")), inUse(pods, services, "10.2.0.0/16 10.3.0.0/16")},
		"nodes beside those of the user": {"IPv4", "10.1.0.0/16", nil, withRanges("10.2.0.0/16", of("", "", "10.1.0.0/16 10.2.0.0/16 fd00::/64")),
			inUse(pods, services, "10.1.0.0/16 10.2.0.0/16 fd00::/64")},
		"other nodes than before":         {"IPv4", "", inUse(pods, services, "10.2.0.0/16"), withRanges("", of("", "", "10.3.0.0/16")), inUse(pods, services, "10.3.0.0/16")},
		"no nodes any longer":             {"IPv4", "", inUse(pods, services, "10.2.0.0/16"), withRanges("", reported{}), inUse(pods, services, "10.2.0.0/16")},
		"a second family":                 {"IPv4 IPv6", "", nil, withRanges("", of("fd01::/48 fd02::/48", "fd03::/108", "")), inUse(pods+" fd01::/48", services+" fd03::/108", "")},
		"a family that is not wanted":     {"IPv4", "", nil, withRanges("", of("fd01::/48", "fd03::/108", "")), inUse(pods, services, "")},
		"a family that has a range":       {"IPv4", "", nil, withRanges("", of("10.9.0.0/16", "10.8.0.0/16", "")), inUse(pods, services, "")},
		"one family, with its range":      {"IPv6", "", nil, withRanges("", of("fd01::/48", "fd03::/108", "")), inUse("fd01::/48", "fd03::/108", "")},
		"what is in use stays":            {"IPv6", "", inUse("fd01::/48", "fd03::/108", ""), withRanges("", of("fd09::/48", "fd08::/108", "")), inUse("fd01::/48", "fd03::/108", "")},
		"not ready":                       {"IPv6", "fd05::/64", nil, processing(withRanges("", of("fd01::/48", "fd03::/108", "fd04::/64"))), inUse("", "", "fd05::/64")},
		"not ready again":                 {"IPv4", "10.1.0.0/16", inUse(pods, services, "10.2.0.0/16"), processing(withRanges("", of("", "", "10.3.0.0/16"))), inUse(pods, services, "10.2.0.0/16")},
		"what is no range":                {"IPv4", "", nil, withRanges("", of("", "", "10.3.0.0")), inUse(pods, services, "")},
		"written in another way":          {"IPv6", "", nil, withRanges("", of("FD01:0::1/48", "fd03::/108", "")), inUse("fd01::/48", "fd03::/108", "")},
		"an infrastructure without any":   {"IPv4", "10.1.0.0/16", inUse(pods, services, "10.2.0.0/16"), nil, inUse(pods, services, "10.1.0.0/16")},
		"a family that has just one kind": {"IPv4 IPv6", "", nil, withRanges("", of("fd01::/48", "", "")), inUse(pods+" fd01::/48", services, "")},
	} {
		t.Run(name, func(t *testing.T) {
			s := &corev1beta1.Shoot{}
			s.Spec.Provider.Workers = []corev1beta1.Worker{{}}
			s.Spec.Networking = &corev1beta1.Networking{IPFamilies: strings.Fields(test.families)}
			if test.nodes != "" {
				s.Spec.Networking.Nodes = &test.nodes
			}
			s.Status.Networking = test.before
			got := networkingInUse(s, test.infrastructure)
			g := NewWithT(t)
			g.Expect(fmt.Sprint(*got)).To(Equal(fmt.Sprint(*test.want)))
			s.Status.Networking = got
			g.Expect(fmt.Sprint(*networkingInUse(s, test.infrastructure))).To(Equal(fmt.Sprint(*test.want)), "again")
		})
	}
}

// Another program writes the status of an Infrastructure.
func TestReportedRangesAreChecked(t *testing.T) {
	type reported = extensionsv1alpha1.InfrastructureStatusNetworking
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	for name, test := range map[string]struct {
		nodesCIDR  string
		networking reported
		want       string
	}{
		"an address":                {"", reported{Nodes: []string{"10.1.0.0/16", "10.2.0.0"}}, `status.networking.nodes: Invalid value: "10.2.0.0"`},
		"nothing":                   {"", reported{Pods: []string{""}}, `status.networking.pods: Invalid value: ""`},
		"a name":                    {"", reported{Services: []string{"services"}}, `status.networking.services: Invalid value: "services"`},
		"IPv4 in IPv6":              {"::ffff:10.1.0.0/112", reported{}, `status.nodesCIDR: Invalid value: "::ffff:10.1.0.0/112"`},
		"a text that is too long":   {"", reported{Pods: []string{strings.Repeat("1", 1<<20)}}, `Invalid value: "` + strings.Repeat("1", 64) + `…"`},
		"more than can be a status": {"", reported{Nodes: many}, "status.networking.nodes: Too many: 17: must have at most 16 items"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reportedRanges(withRanges(test.nodesCIDR, test.networking))
			NewWithT(t).Expect(err).To(MatchError(And(HavePrefix("the Infrastructure one/two reports: "), ContainSubstring(test.want))))
		})
	}
}
