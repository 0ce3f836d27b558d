// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

const (
	cleanupRoutes = "cleanup-routes"
	podRoutes     = "overlay: {enabled: false, createPodRoutes: true}"
)

// With backend none, nothing keeps BIRD's routes right.
func TestRoutesThatBIRDLeftAreFlushed(t *testing.T) {
	g := NewWithT(t)
	command := build(t, "overlay: {enabled: false}").container(cleanupRoutes).Command
	calls := runScript(t, command, map[string]string{"ip": stub(`[ "$1" = -4 ]`)})
	g.Expect(calls).To(Equal([]string{"ip -4 route flush proto bird", "ip -6 route flush proto bird"}))
}

func TestWhereBIRDIsTheBackendOnlyRoutesThroughATunnelAreFlushed(t *testing.T) {
	command := build(t, podRoutes).container(cleanupRoutes).Command
	const look = "ip link show dev tunl0"
	for _, test := range []struct {
		name, ip string
		calls    []string
	}{
		{"the node had an overlay", "exit 0", []string{look, "ip -4 route flush proto bird dev tunl0"}},
		{"the node never had one", "exit 1", []string{look}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(runScript(t, command, map[string]string{"ip": stub(test.ip)})).To(Equal(test.calls))
		})
	}
}

func TestRoutesThatCannotBeFlushedKeepTheNodeFromStarting(t *testing.T) {
	for _, config := range []string{podRoutes, "overlay: {enabled: false}"} {
		NewWithT(t).Expect(tryScript(t, build(t, config).container(cleanupRoutes).Command,
			map[string]string{"ip": stub(`[ "$1" = link ]`)}).Err).To(HaveOccurred(), config)
	}
}
