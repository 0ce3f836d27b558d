// SPDX-License-Identifier: Apache-2.0

package route_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/providers/routes"
	"github.com/trellis-network/trellis/test/harness"
)

func TestEachNodeGetsItsRoutesAndItsCondition(t *testing.T) {
	e := setup(t)
	a, b := e.node("a", 1), e.node("b", 2)
	e.Eventually(e.cloud.lines).Should(Equal([]string{e.route("t", a), e.route("t", b), e.route("u", a), e.route("u", b)}))
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
	e.Eventually(e.marked(b)).Should(Equal("False RouteCreated"))
	e.Expect(e.cloud.machines).To(HaveEach(true), "they forward")
	e.Expect(e.finalizers()).To(ContainElement("trellis.network/pod-routes"))
	e.Expect(e.cloud.opened[0].Name).To(Equal(e.namespace))
	e.Expect(e.cloud.opened[0].Region).To(Equal("eu"))
	e.Expect(e.cloud.opened[0].Credentials).To(HaveKey("key"))

	// A route that a person has deleted or directed elsewhere is corrected.
	e.cloud.change(func() {
		clear(e.cloud.routes)
		e.cloud.routes[routes.Route{Table: "t", Destination: netip.MustParsePrefix(a.Spec.PodCIDR), Machine: b.Name}] = true
	})
	e.Eventually(e.cloud.lines).Should(Equal([]string{e.route("t", a), e.route("t", b), e.route("u", a), e.route("u", b)}))

	// A node that goes takes its routes along.
	e.Expect(e.shoot.Delete(t.Context(), a)).To(Succeed())
	e.Eventually(e.cloud.lines).Should(Equal([]string{e.route("t", b), e.route("u", b)}))
	e.Expect(e.marked(b)()).To(Equal("False RouteCreated"))
}

func TestNoNodeHasTheConditionBeforeItsRoutesAreSeen(t *testing.T) {
	e := setup(t)
	e.cloud.change(func() { e.cloud.fault = fmt.Errorf("make the route: %w", routes.ErrThrottled) })
	a := e.node("a", 1)
	e.Eventually(e.reported).Should(Equal("Progressing RequestsThrottled: Make the route: the infrastructure limits the rate of requests. ERR_INFRA_RATE_LIMITS_EXCEEDED"))
	e.Consistently(e.marked(a)).WithTimeout(2 * time.Second).Should(BeEmpty())
	e.cloud.change(func() { e.cloud.fault = nil })
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))

	// It says so when the routes are gone and cannot be made again.
	e.cloud.change(func() { clear(e.cloud.routes); e.cloud.fault = fmt.Errorf("make the route: %w", routes.ErrNotAllowed) })
	e.Eventually(e.marked(a)).Should(Equal("True NoRouteCreated"))
	e.Eventually(e.reported).Should(HavePrefix("False CredentialsRefused: Make the route: the infrastructure refuses the credentials."))
}

func TestRoutesOfOthersAreNeverTouched(t *testing.T) {
	e := setup(t)
	others := routes.Route{Table: "t", Destination: netip.MustParsePrefix(e.pods + ".1.0/24"), Machine: "other"}
	lost := routes.Route{Table: "t", Destination: netip.MustParsePrefix(e.pods + ".9.0/24"), Broken: true}
	e.cloud.change(func() { e.cloud.routes[others], e.cloud.routes[lost] = false, false })
	a := e.node("a", 1)
	e.Eventually(e.reported).Should(ContainSubstring("Routes that Trellis has not made lead nowhere and can be deleted: to " + e.pods + ".9.0/24 in t"))
	e.Eventually(e.cloud.lines).Should(ContainElement(e.route("u", a)))
	e.Expect(e.cloud.lines()).To(ConsistOf("t "+e.pods+".1.0/24 other", "t "+e.pods+".9.0/24 ", e.route("u", a)))
	e.Expect(e.marked(a)()).To(BeEmpty(), "one of its routes is missing")
	e.cloud.change(func() { delete(e.cloud.routes, others) })
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
}

func TestAFullRouteTableIsToldBeforehand(t *testing.T) {
	e := setup(t)
	e.cloud.change(func() {
		for i := range 8 {
			for _, table := range e.cloud.tables {
				e.cloud.routes[routes.Route{Table: table, Destination: netip.MustParsePrefix(fmt.Sprintf("10.250.%d.0/24", i))}] = false
			}
		}
		e.cloud.quota = 10
	})
	a := e.node("a", 1)
	e.Eventually(e.reported).Should(ContainSubstring("The route table t has 9 of 10 IPv4 routes; the route table u has 9 of 10 IPv4 routes: have the quota raised before the cluster grows."))
	e.Eventually(func() []string { return e.events("RouteTableNearlyFull") }).Should(HaveLen(1))
	e.Expect(e.marked(a)()).To(Equal("False RouteCreated"))

	e.node("b", 2)
	c := e.node("c", 3)
	e.Eventually(e.reported).Should(And(HavePrefix("False RouteTableFull: "), HaveSuffix("ERR_INFRA_QUOTA_EXCEEDED")))
	e.Expect(e.cloud.lines()).To(HaveLen(20))
	e.Expect(e.marked(c)()).NotTo(Equal("False RouteCreated"))
	e.Eventually(func() []string { return e.events("RouteTableFull") }).Should(HaveLen(1))
	e.Expect(e.marked(a)()).To(Equal("False RouteCreated"), "others keep theirs")
}

// A user of the cluster can write nodes, and a node that has been taken over can state any range.
func TestANodeCannotTakeAnothersRange(t *testing.T) {
	e := setup(t)
	a := e.node("a", 1)
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
	thief, stranger := e.node("b", 1), e.node("c", 2) // the last one is seen after the thief
	e.Eventually(e.marked(stranger)).Should(Equal("False RouteCreated"), "the rest goes on")
	e.Expect(e.cloud.lines()).To(ContainElements(e.route("t", a), e.route("u", a)))
	e.Expect(e.cloud.lines()).NotTo(ContainElement(e.route("t", thief)))
	e.Expect(e.marked(a)()).To(Equal("False RouteCreated"), "its routes are there")
	e.Expect(e.marked(thief)()).To(BeEmpty())
}

func TestRoutesAreRemovedWithTheNetwork(t *testing.T) {
	e := setup(t)
	harness.Change(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) {
		n.Finalizers = append(n.Finalizers, extensionsv1alpha1.NetworkFinalizer)
	})
	e.node("a", 1)
	e.Eventually(e.cloud.lines).Should(HaveLen(2))
	e.Eventually(e.finalizers).Should(HaveLen(2))
	e.Expect(e.seed.Delete(t.Context(), e.network)).To(Succeed())
	e.Consistently(e.cloud.lines).WithTimeout(3*time.Second).Should(HaveLen(2), "pods talk until the network is gone")
	e.cloud.change(func() { e.cloud.fault = errUnrelated })
	harness.Change(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) { n.Finalizers = []string{"trellis.network/pod-routes"} })
	e.Eventually(e.reported).Should(Equal("False InfrastructureFails: The cloud is on fire. 2 changes have failed in all."))
	e.Expect(e.finalizers()).To(HaveLen(1))
	e.cloud.change(func() { e.cloud.fault = nil })
	e.Eventually(e.finalizers).Should(BeEmpty())
	e.Expect(e.cloud.lines()).To(BeEmpty())
}

func TestRoutesAreRemovedWhenNobodyAsksForThem(t *testing.T) {
	e := setup(t)
	a := e.node("a", 1)
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
	e.cloud.change(func() {
		e.cloud.routes[routes.Route{Table: "t", Destination: netip.MustParsePrefix("0.0.0.0/0")}] = false
	})
	harness.Change(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) { delete(n.Annotations, extensionsv1alpha1.PodRoutesAnnotation) })
	e.Eventually(e.finalizers).Should(BeEmpty())
	e.Expect(e.cloud.lines()).To(HaveLen(1))
	e.Expect(e.marked(a)()).To(BeEmpty())
	e.Expect(e.reported()).To(BeEmpty())

	// The Shoot can ask, too.
	e.putShoot(func(s *corev1beta1.Shoot) {
		s.Generation, s.Annotations = 2, map[string]string{extensionsv1alpha1.PodRoutesAnnotation: "true"}
	})
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
}

func TestNothingIsAskedOfTheCloudWithoutARequest(t *testing.T) {
	e := setup(t)
	harness.Change(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) { delete(n.Annotations, extensionsv1alpha1.PodRoutesAnnotation) })
	e.Eventually(e.reported).Should(BeEmpty())
	var before int
	e.cloud.change(func() { before = e.cloud.listed })
	e.node("a", 1)
	e.Consistently(func() int { e.cloud.mutex.Lock(); defer e.cloud.mutex.Unlock(); return e.cloud.listed }).WithTimeout(3 * time.Second).Should(BeNumerically("<=", before+1))
	e.Expect(e.cloud.lines()).To(BeEmpty())
}

func TestAControlPlaneThatMovesKeepsItsRoutes(t *testing.T) {
	e := setup(t)
	e.node("a", 1)
	e.Eventually(e.cloud.lines).Should(HaveLen(2))
	harness.Change(t, e.seed, e.network, func(n *extensionsv1alpha1.Network) {
		n.Annotations[extensionsv1alpha1.OperationAnnotation], n.Finalizers = extensionsv1alpha1.OperationMigrate, nil
	})
	e.Expect(e.seed.Delete(t.Context(), e.network)).To(Succeed())
	e.Consistently(e.cloud.lines).WithTimeout(3 * time.Second).Should(HaveLen(2))
}

func TestWhileNodesAreUnknownNothingChanges(t *testing.T) {
	e := setup(t)
	a := e.node("a", 1)
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
	e.seed.PutAccess(t, e.namespace, []byte("nonsense"))
	e.Eventually(e.reported).Should(HavePrefix("Unknown NodesUnknown: There is no access to the shoot"))
	e.Expect(e.cloud.lines()).To(HaveLen(2))
	e.seed.PutAccess(t, e.namespace, e.shoot.Kubeconfig)
	e.Eventually(e.reported).ShouldNot(HavePrefix("Unknown"))
	e.cloud.change(func() { e.cloud.unlisted = fmt.Errorf("list: %w", routes.ErrNotAllowed) })
	e.Eventually(e.reported).Should(Equal("False CredentialsRefused: List: the infrastructure refuses the credentials. ERR_INFRA_UNAUTHORIZED"))
	e.Expect(e.marked(a)()).To(Equal("False RouteCreated"))
}

func TestWhatIsMissingIsTold(t *testing.T) {
	e := setup(t)
	e.putShoot(func(s *corev1beta1.Shoot) { s.Spec.Provider.Type = "another" })
	e.Eventually(e.reported).Should(HavePrefix(`False InfrastructureNotListed: The operator makes no routes on "another": list it in podRoutes`))
	e.putShoot(func(*corev1beta1.Shoot) {})
	e.Expect(e.seed.Delete(t.Context(), &corev1.Secret{ObjectMeta: metaOf(e.namespace, "cloudprovider")})).To(Succeed())
	e.Eventually(e.reported).Should(ContainSubstring("there is no Secret " + e.namespace + "/cloudprovider"))
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	e := setup(t)
	a := e.node("a", 1)
	e.Eventually(e.marked(a)).Should(Equal("False RouteCreated"))
	e.requests.Forget()
	e.shoot.Stays(t, a, 4*time.Second)
	e.Expect(e.requests.Writes()).To(BeEmpty())
}
