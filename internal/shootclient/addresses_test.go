// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAddressesThatAreNeverAClustersAreRefused(t *testing.T) {
	refuse, loopback := NeverClusters(), NeverClusters("127.0.0.0/8")
	for address, refused := range map[string]bool{
		"127.0.0.1": true, "127.8.9.1": true, "::1": true, "0.0.0.0": true, "::": true, "::ffff:127.0.0.1": true,
		"169.254.169.254": true, "fe80::1": true, "fe80::1%eth0": true, "::ffff:169.254.169.254": true,
		"fd00:ec2::254": true, "100.100.100.200": true, "168.63.129.16": true, "192.0.0.192": true, "192.0.0.170": false,
		"224.0.0.1": true, "255.255.255.255": true, "ff02::1": true,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false, "100.64.0.1": false, "fd12::1": false,
		"203.0.113.7": false, "2001:db8::1": false,
	} {
		parsed := netip.MustParseAddr(address)
		NewWithT(t).Expect((&Options{RefuseAddress: refuse}).checkAddress(parsed) != nil).To(Equal(refused), address)
	}
	NewWithT(t).Expect(loopback(netip.MustParseAddr("127.0.0.1"))).To(BeFalse())
	NewWithT(t).Expect(loopback(netip.MustParseAddr("169.254.169.254"))).To(BeTrue())
}

// A gateway for NAT64 or 6to4 sends packets on to the IPv4 address in that of IPv6.
func TestAddressesThatLeadToRefusedAddressesAreRefused(t *testing.T) {
	for address, refused := range map[string]bool{
		"64:ff9b::169.254.169.254": true, "64:ff9b::127.0.0.1": true, "64:ff9b::100.100.100.200": true,
		"64:ff9b::10.0.0.1": false, "64:ff9b::203.0.113.7": false,
		"64:ff9b:1::169.254.169.254": true, "64:ff9b:1:a9fe:a9:fe00::": true, "64:ff9b:1::10.0.0.1": true,
		"2002:a9fe:a9fe::1": true, "2002:7f00:1::": true, "2002:a00:1::1": false, "2002:cb00:7107::1": false,
		"::ffff:0:169.254.169.254": true, "::ffff:0:10.0.0.1": false, "::169.254.169.254": true, "::10.0.0.1": false,
		"::ffff:100.100.100.200": true, "::ffff:10.0.0.1": false,
	} {
		o := &Options{RefuseAddress: NeverClusters()}
		NewWithT(t).Expect(o.checkAddress(netip.MustParseAddr(address)) != nil).To(Equal(refused), address)
	}
	local := NeverClusters("64:ff9b:1::10.0.0.0/104")
	NewWithT(t).Expect(local(netip.MustParseAddr("64:ff9b:1::10.0.0.1"))).To(BeFalse())
	NewWithT(t).Expect(local(netip.MustParseAddr("64:ff9b:1::169.254.169.254"))).To(BeTrue())
}

// An address is checked when a connection is opened, since a name may lead anywhere.
func TestNamesOfRefusedAddressesAreNotConnectedTo(t *testing.T) {
	refusing := func(o *Options) { o.RefuseAddress = NeverClusters() }
	h := newHostile(t, nil, refusing)
	_, err := h.clients.For(h.ctx, "shoot--tenant")
	h.Expect(errors.As(err, new(*NoAccessError))).To(BeTrue(), "the address itself is in the kubeconfig")
	h.Expect(err).To(MatchError(ContainSubstring("shootClientConnection.allowedAddresses")))

	named := &onlySecret{kubeconfig: kubeconfigOf(`"server":"` + strings.Replace(h.server.URL, "127.0.0.1", "localhost", 1) + `","insecure-skip-tls-verify":true`)}
	options := patient(named, named)
	refusing(&options)
	clients := New(options)
	defer clients.Close()
	_, err = clients.For(h.ctx, "shoot--tenant")
	h.Expect(errors.As(err, new(*UnreachableError))).To(BeTrue())
	h.Expect(err).To(MatchError(And(ContainSubstring("is not one of a cluster"), Not(ContainSubstring("127.0.0.1")), Not(ContainSubstring("::1")))))
}

func TestAllowedAddressesAreConnectedTo(t *testing.T) {
	h := newHostile(t, nil, func(o *Options) { o.RefuseAddress = NeverClusters("127.0.0.0/8") })
	h.shoot()
}
