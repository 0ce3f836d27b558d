// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
)

func endpoint(node, address string) apiserver.Endpoint {
	return apiserver.Endpoint{Node: node, Address: netip.MustParseAddr(address), Ready: true}
}

func notReady(e apiserver.Endpoint) apiserver.Endpoint {
	e.Ready = false
	return e
}

func TestANodeThatJoinsIsAPeerOnceItsProbeIsReady(t *testing.T) {
	g := NewWithT(t)
	var r Roster
	r.Update("self", []apiserver.Endpoint{endpoint("self", "10.1.0.1"), endpoint("a", "10.1.1.1"), notReady(endpoint("b", "10.1.2.1"))})
	g.Expect(r.Nodes()).To(Equal([]string{"a"}))
	r.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.1"), endpoint("b", "10.1.2.1")})
	g.Expect(r.Nodes()).To(Equal([]string{"a", "b"}))
}

func TestANodeThatIsLostStaysAPeerUntilItsPodIsGone(t *testing.T) {
	g := NewWithT(t)
	var r Roster
	r.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.1"), endpoint("b", "10.1.2.1")})
	r.Update("self", []apiserver.Endpoint{notReady(endpoint("a", "10.1.1.1")), endpoint("b", "10.1.2.1")})
	g.Expect(r.Nodes()).To(Equal([]string{"a", "b"}))
	leaving := notReady(endpoint("a", "10.1.1.1"))
	leaving.Terminating = true
	r.Update("self", []apiserver.Endpoint{leaving, endpoint("b", "10.1.2.1")})
	g.Expect(r.Nodes()).To(Equal([]string{"b"}))
	r.Update("self", nil)
	g.Expect(r.Nodes()).To(BeEmpty())
}

func TestAReplacedPodIsReachedAtItsNewAddress(t *testing.T) {
	g := NewWithT(t)
	var r Roster
	older := endpoint("a", "10.1.1.1")
	r.Update("self", []apiserver.Endpoint{older})
	r.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.2"), notReady(older)})
	g.Expect(r.peers["a"]).To(Equal(peer{v1alpha1.IPv4: netip.MustParseAddr("10.1.1.2")}))
	r.Update("self", []apiserver.Endpoint{endpoint("a", "10.1.1.2"), endpoint("a", "fd00::2")})
	g.Expect(r.peers["a"]).To(HaveLen(2))
}

func TestNoProbeConnectsToItselfBecauseAnotherSaysSo(t *testing.T) {
	g := NewWithT(t)
	var r Roster
	var all []apiserver.Endpoint
	for _, address := range []string{"127.0.0.1", "::1", "169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.0", "::ffff:127.0.0.1", "255.255.255.255"} {
		all = append(all, endpoint("a", address))
	}
	r.Update("self", append(all, endpoint("", "10.1.1.1")))
	g.Expect(r.Nodes()).To(BeEmpty())
}
