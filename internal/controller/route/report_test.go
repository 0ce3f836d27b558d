// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/providers/routes"
)

// after returns the condition after a pass in which nodes needed what is there, as
// "True RoutesCreated: message".
func after(limit int, there *routes.Listing, err error, nodes ...corev1.Node) string {
	needed := neededBy(nodes, pods, machineOf)
	c := (&run{limit: limit, nodes: needed, there: there, plan: planned(needed, pods, there)}).report(err)
	text := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	for _, code := range c.Codes {
		text += " " + string(code)
	}
	return text
}

func TestUsersAreToldWhichNodesLackRoutes(t *testing.T) {
	g := NewWithT(t)
	a, b := nodeWith("a", "100.96.1.0/24"), nodeWith("b", "100.96.2.0/24")
	g.Expect(after(0, listing(owned("100.96.1.0/24", "a")), nil, a)).To(Equal("True RoutesCreated: 1 of 1 node with routes in 1 route table."))
	g.Expect(after(0, listing(owned("100.96.1.0/24", "a")), nil, a, b)).To(Equal("Progressing RoutesPending: 1 of 2 nodes with routes in 1 route table."))
	broken := foreign("100.96.9.0/24", "")
	broken.Broken = true
	elsewhere := foreign("100.96.2.0/24", "")
	elsewhere.Target = "igw-1"
	g.Expect(after(0, listing(owned("100.96.1.0/24", "a"), broken, elsewhere), nil, a, b)).To(Equal("False NodesWithoutRoutes: 1 of 2 nodes with routes in 1 route table. " +
		"Routes that Trellis has not made lead nowhere and can be deleted: to 100.96.9.0/24 in t. " +
		`Nodes without routes: "b": the route table t has a route to 100.96.2.0/24 that Trellis has not made and that leads to igw-1; delete it.`))
	var many []corev1.Node
	for i := range 2000 {
		many = append(many, nodeWith(strings.Repeat("\x00", 200)+fmt.Sprint(i)))
	}
	text := after(0, listing(), nil, many...)
	g.Expect(text).To(ContainSubstring("and 1995 more"))
	g.Expect(len(text)).To(BeNumerically("<", 4096))
	g.Expect(text).NotTo(ContainSubstring("\x00"))
}

func TestUsersAreToldBeforeARouteTableIsFull(t *testing.T) {
	g := NewWithT(t)
	a, there := nodeWith("a", "100.96.1.0/24"), listing(owned("100.96.1.0/24", "a"))
	for used, told := range map[int]bool{449: false, 450: true, 500: true, 501: false} {
		there.Tables[0].IPv6 = used
		want := "True RoutesCreated: 1 of 1 node with routes in 1 route table."
		if told {
			want = fmt.Sprintf("True RouteTableNearlyFull: 1 of 1 node with routes in 1 route table. "+
				"The route table t has %d of 500 IPv6 routes: have the quota raised before the cluster grows.", used)
		}
		g.Expect(after(500, there, nil, a)).To(Equal(want), "a table with more routes has another quota")
	}
	g.Expect(after(0, there, nil, a)).To(HavePrefix("True RoutesCreated"), "the limit is not known")
}

func TestUsersAreToldWhatTheInfrastructureRefuses(t *testing.T) {
	g := NewWithT(t)
	for err, want := range map[error]string{
		routes.ErrThrottled:                           "Progressing RequestsThrottled: List: the infrastructure limits the rate of requests. ERR_INFRA_RATE_LIMITS_EXCEEDED",
		routes.ErrLimitReached:                        "False RouteTableFull: List: the route table is full. ERR_INFRA_QUOTA_EXCEEDED",
		routes.ErrNotAllowed:                          "False CredentialsRefused: List: the infrastructure refuses the credentials. ERR_INFRA_UNAUTHORIZED",
		errors.New("no route to host"):                "False InfrastructureFails: List: no route to host.",
		&shootError{errors.New("it is gone")}:         "Unknown NodesUnknown: List: it is gone.",
		&notListedError{"other"}:                      `False InfrastructureNotListed: List: the operator makes no routes on "other": list it in podRoutes of the operator's configuration, or remove the annotation trellis.network/pod-routes. ERR_CONFIGURATION_PROBLEM`,
		errors.New("\n" + strings.Repeat("x", 10000)): "",
	} {
		told := after(0, listing(), fmt.Errorf("list: %w", err))
		g.Expect(told).To(HavePrefix(want))
		g.Expect(len(told)).To(BeNumerically("<", 3000))
	}
	g.Expect(worst([]error{errors.New("other"), routes.ErrThrottled, routes.ErrLimitReached})).To(Equal(routes.ErrLimitReached))
	g.Expect(codesOf(errors.New("other"))).To(BeEmpty())
	g.Expect(codesOf(routes.ErrNotAllowed)).To(Equal([]corev1beta1.ErrorCode{"ERR_INFRA_UNAUTHORIZED"}))
}
