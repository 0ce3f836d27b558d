// SPDX-License-Identifier: Apache-2.0

package routes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	awsroutes "github.com/trellis-network/trellis/providers/aws/routes"
	"github.com/trellis-network/trellis/providers/routes"
)

// wanted returns a route in a table to the pods of each of the first nodes.
func wanted(table string, nodes int) (all []routes.Route) {
	for i := range nodes {
		all = append(all, routes.Route{Table: table, Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(96 + i/256), byte(i), 0}), 24), Machine: id(i)})
	}
	return all
}

// owned returns the routes of a listing that are the cluster's own.
func owned(listing *routes.Listing) (all []routes.Route) {
	for _, table := range listing.Tables {
		for _, each := range table.Routes {
			if each.Owned {
				all = append(all, each)
			}
		}
	}
	return all
}

func TestRoutesAreMadeInEachTableOfTheCluster(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 3, 2)
	e.tables[2].Tags = map[string]string{"kubernetes.io/cluster/another": "1"}
	e.instances[1].Tags = map[string]string{"kubernetes.io/cluster/another": "1"}
	opened, listing := e.list(t)
	g.Expect(listing.Tables).To(HaveLen(2), "the third is another cluster's")
	g.Expect(listing.Machines).To(Equal(map[string]routes.Machine{id(0): {}}), "the second is another cluster's, and has its check on")
	g.Expect(listing.Tables[0].IPv4).To(Equal(2))
	g.Expect(owned(listing)).To(BeEmpty())

	all := append(wanted("rtb-0", 1), wanted("rtb-1", 1)...)
	g.Expect(opened.Make(t.Context(), all)).To(HaveEach(Succeed()))
	g.Expect(opened.Forward(t.Context(), []string{id(0)})).To(HaveEach(Succeed()))
	for _, table := range []string{"rtb-0", "rtb-1"} {
		g.Expect(e.routesOf(table)).To(Equal([]string{"100.96.0.0/24 eni-0"}))
	}
	g.Expect(e.routesOf("rtb-2")).To(BeEmpty())
	_, listing = e.list(t)
	g.Expect(owned(listing)).To(HaveLen(2))
	g.Expect(owned(listing)[0].Machine).To(Equal(id(0)))
	g.Expect(listing.Machines[id(0)].Forwards).To(BeTrue())
	g.Expect(e.instances[1].Check).To(BeTrue())
	g.Expect(e.signers).To(HaveLen(1))
	g.Expect(e.signers).To(HaveKey("AKIDEXAMPLE"))
}

func TestARouteIsDirectedToAnotherInstanceAndDeleted(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 2)
	opened, _ := e.list(t)
	g.Expect(opened.Make(t.Context(), wanted("rtb-0", 1))).To(HaveEach(Succeed()))

	opened, _ = e.list(t)
	moved := wanted("rtb-0", 1)
	moved[0].Machine = id(1)
	g.Expect(opened.Make(t.Context(), moved)).To(HaveEach(Succeed()))
	g.Expect(e.routesOf("rtb-0")).To(Equal([]string{"100.96.0.0/24 eni-1"}))
	g.Expect(e.count("ReplaceRoute")).To(Equal(1))

	opened, listing := e.list(t)
	g.Expect(opened.Delete(t.Context(), owned(listing))).To(HaveEach(Succeed()))
	g.Expect(e.routesOf("rtb-0")).To(BeEmpty())
	g.Expect(e.tables[0].Tags).To(Equal(clusterTag), "nothing is left")
	g.Expect(opened.Delete(t.Context(), owned(listing))).To(HaveEach(Succeed()), "what is gone is no error")
}

func TestRoutesOfOthersAreNeverTouched(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 1)
	e.tables[0].Routes = append(e.tables[0].Routes, route{Destination: "100.96.0.0/24", Interface: "eni-0"}, route{Destination: "100.96.1.0/24", Interface: "eni-gone", State: "blackhole"})
	opened, listing := e.list(t)
	g.Expect(owned(listing)).To(BeEmpty())
	g.Expect(listing.Tables[0].Routes[2].Machine).To(Equal(id(0)))
	g.Expect(listing.Tables[0].Routes[3].Broken).To(BeTrue())
	g.Expect(listing.Tables[0].Routes[3].Target).To(Equal("eni-gone"))
	g.Expect(opened.Delete(t.Context(), listing.Tables[0].Routes)).To(HaveEach(Succeed()))
	g.Expect(e.count("DeleteRoute")).To(BeZero())
	g.Expect(opened.Make(t.Context(), wanted("rtb-0", 1))).To(HaveEach(MatchError(routes.ErrTaken)))
	g.Expect(e.tables[0].Tags).To(Equal(clusterTag), "the claim is given up")

	// A user replaces a route of ours by one to a gateway, and another by one to an interface.
	e.tables[0].Routes = nil
	opened, _ = e.list(t)
	g.Expect(opened.Make(t.Context(), wanted("rtb-0", 2)[:1])).To(HaveEach(Succeed()))
	e.tables[0].Routes[0].Interface, e.tables[0].Routes[0].Gateway = "", "igw-1"
	_, listing = e.list(t)
	g.Expect(owned(listing)).To(BeEmpty())
}

func TestAFullTableHasItsClaimsInItsTags(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 498)
	e.pageSize = 100
	opened, _ := e.list(t)
	all := wanted("rtb-0", 498)
	for i := range 498 {
		all = append(all, routes.Route{Table: "rtb-0", Destination: netip.MustParsePrefix(fmt.Sprintf("2001:db8:1:2:%x::/80", i)), Machine: id(i)})
	}
	g.Expect(opened.Make(t.Context(), all)).To(HaveEach(Succeed()))
	g.Expect(e.count("CreateTags")).To(Equal(1))
	g.Expect(len(e.tables[0].Tags)).To(And(BeNumerically(">", 30), BeNumerically("<=", 40)))
	for _, value := range e.tables[0].Tags {
		g.Expect(len(value)).To(BeNumerically("<=", 256))
	}
	_, listing := e.list(t)
	g.Expect(owned(listing)).To(HaveLen(996))
	g.Expect(listing.Tables[0].IPv4).To(Equal(500))
	g.Expect(listing.Machines).To(HaveLen(498), "all pages are read")
}

func TestAFullTableIsToldForEachFamily(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 2, 5)
	e.quota = 4 // two are there
	opened, _ := e.list(t)
	all := append(wanted("rtb-0", 5), wanted("rtb-1", 1)...)
	all = append(all, routes.Route{Table: "rtb-0", Destination: netip.MustParsePrefix("2001:db8::/80"), Machine: id(0)})
	errs := opened.Make(t.Context(), all)
	g.Expect(slices.Concat(errs[:2], errs[5:])).To(HaveEach(Succeed()))
	g.Expect(errs[2:5]).To(HaveEach(MatchError(routes.ErrLimitReached)))
	g.Expect(errs[2]).To(MatchError(ContainSubstring("make the route to 100.96.2.0/24 in the route table rtb-0 to the instance " + id(2) +
		": the route table is full: RouteLimitExceeded: The maximum number of routes has been reached.")))
	g.Expect(e.count("CreateRoute")).To(Equal(5), "the fourth and the fifth are not tried")
}

func TestThrottledRequestsAreRepeatedAndThenTold(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 3)
	e.fail("DescribeInstances", throttled, throttled)
	opened, _ := e.list(t)
	g.Expect(e.count("DescribeInstances")).To(Equal(3))

	e.fail("CreateRoute", throttled, throttled, throttled, throttled)
	errs := opened.Make(t.Context(), wanted("rtb-0", 3))
	g.Expect(errs).To(HaveEach(MatchError(routes.ErrThrottled)))
	g.Expect(e.count("CreateRoute")).To(Equal(4), "the batch ends with the first route")

	opened, listing := e.list(t)
	g.Expect(owned(listing)).To(BeEmpty())
	g.Expect(opened.Make(t.Context(), wanted("rtb-0", 3))).To(HaveEach(Succeed()), "the next pass goes on")

	e.fail("DescribeRouteTables", slices.Repeat([]fault{throttled}, 4)...)
	_, err := e.open(t).List(t.Context())
	g.Expect(err).To(MatchError(routes.ErrThrottled))
}

func TestRefusedCredentialsAreTold(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 2, 2)
	opened, _ := e.list(t)
	e.fail("CreateTags", unauthorized)
	all := append(wanted("rtb-0", 2), wanted("rtb-1", 1)...)
	errs := opened.Make(t.Context(), all)
	g.Expect(errs).To(HaveEach(MatchError(routes.ErrNotAllowed)))
	g.Expect(errs[0]).To(MatchError("write the tags of the route table rtb-0 that tell which routes are Trellis' own: " +
		"the infrastructure refuses the credentials: UnauthorizedOperation: You are not authorized to perform this operation."))
	g.Expect(e.count("CreateTags")).To(Equal(1), "no other table is tried")
	g.Expect(e.count("CreateRoute")).To(BeZero(), "no route is made without a claim")

	e.fail("ModifyNetworkInterfaceAttribute", unauthorized)
	g.Expect(opened.Forward(t.Context(), []string{id(0), id(1)})).To(HaveEach(MatchError(routes.ErrNotAllowed)))
	e.fail("DescribeInstances", fault{Status: 401, Code: "AuthFailure", Message: "AWS was not able to validate the provided access credentials"})
	_, err := e.open(t).List(t.Context())
	g.Expect(err).To(MatchError(routes.ErrNotAllowed))
}

func TestAnEndpointThatDoesNotAnswerIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 1)
	e.fail("DescribeInstances", silent)
	e.list(t) // the second attempt is answered
	g.Expect(e.count("DescribeInstances")).To(Equal(2))

	e.fail("DescribeInstances", slices.Repeat([]fault{silent}, 4)...)
	_, err := e.open(t).List(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("list the instances of the cluster: ")))

	opened, _ := e.list(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	e.fail("CreateRoute", slices.Repeat([]fault{silent}, 4)...)
	errs := opened.Make(ctx, wanted("rtb-0", 1))
	g.Expect(errs).To(HaveEach(MatchError(context.DeadlineExceeded)))
}

// A process can die between any two requests. What it has made is Owned afterwards.
func TestNoCrashLeavesARouteThatNobodyOwns(t *testing.T) {
	for requests := range 5 {
		g := NewWithT(t)
		e := start(t, 1, 3)
		opened, _ := e.list(t)
		ctx, die := context.WithCancel(t.Context())
		left := requests
		e.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if left--; left < 0 {
				die()
				panic(http.ErrAbortHandler)
			}
			e.ServeHTTP(w, request)
		})
		opened.Make(ctx, wanted("rtb-0", 3))
		die()
		e.Config.Handler = e
		_, listing := e.list(t)
		g.Expect(owned(listing)).To(HaveLen(len(e.routesOf("rtb-0"))), "after %d requests", requests)
	}
}

func TestRangesAssignedToInstancesAreListed(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 1, 1)
	e.instances[0].Prefixes = []string{"2001:db8::/80"}
	_, listing := e.list(t)
	g.Expect(listing.Machines[id(0)].Assigned).To(Equal([]netip.Prefix{netip.MustParsePrefix("2001:db8::/80")}))
}

func TestInstancesAreFoundByTheProviderIDsOfNodes(t *testing.T) {
	g := NewWithT(t)
	e := start(t, 0, 0)
	opened := e.open(t)
	for providerID, machine := range map[string]string{
		"aws:///eu-west-1a/i-0123456789abcdef0": "i-0123456789abcdef0",
		"aws:///i-01234567":                     "i-01234567",
		"aws:///eu-west-1a/i-0123456789ABCDEF0": "",
		"gce://project/zone/i-0123456789abcdef": "",
		"":                                      "",
		"aws:///eu-west-1a/" + strings.Repeat("i-01234567", 100): "",
	} {
		g.Expect(opened.Machine(providerID)).To(Equal(machine), providerID)
	}
}

func TestWhatAClusterLacksIsTold(t *testing.T) {
	g := NewWithT(t)
	_, err := awsroutes.Provider{}.Open(routes.Cluster{Name: cluster, Region: "eu-west-1"})
	g.Expect(err).To(MatchError(And(ContainSubstring("accessKeyID and secretAccessKey"), ContainSubstring("not supported"))))
	g.Expect(err).To(MatchError(routes.ErrNotAllowed))
	credentials := map[string][]byte{"accessKeyID": []byte("a"), "secretAccessKey": []byte("b")}
	for _, region := range []string{"", "evil.example.com/", "eu-west-1.evil", "eu west"} {
		_, err = awsroutes.Provider{}.Open(routes.Cluster{Name: cluster, Region: region, Credentials: credentials})
		g.Expect(err).To(MatchError(ContainSubstring("spec.region of the Shoot is")), region)
	}
}
