// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
)

// What pods got their addresses from is found out once, and remembered.
func TestANetworkGoesOnWithItsIPAM(t *testing.T) {
	g := NewWithT(t)
	p := newPipeline(t, noopPlugin{})
	request := p.NewRequest(network(""), nil, noEnvironment)
	g.Expect(request.Facts.IPAM).To(BeEmpty())
	request.Facts.IPAM = "pool"
	result := p.Build(request)

	later := p.NewRequest(network(`{"mtu":"1300"}`), nil, noEnvironment)
	later.Applied = result.Applied()
	result = p.Build(later)
	g.Expect(result.Applied().Accepted.Facts.IPAM).To(Equal("pool"))
}

// A Shoot whose cluster exists has a status, and must have all that belongs in it.
func TestAShootIsPlannedUntilGardenerBeginsToMakeIt(t *testing.T) {
	for name, test := range map[string]struct {
		shoot *corev1beta1.Shoot
		want  bool
	}{
		"a Network alone":      {nil, true},
		"a Shoot as written":   {shoot(func(*corev1beta1.Shoot) {}), true},
		"as the garden has it": {shoot(func(s *corev1beta1.Shoot) { s.UID = "7" }), false},
		"without its uid":      {shoot(func(s *corev1beta1.Shoot) { s.CreationTimestamp.Time = time.Unix(7, 0) }), false},
		"without its metadata": {shoot(func(s *corev1beta1.Shoot) { s.Status.TechnicalID = "shoot--dev--mine" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPipeline(t, noopPlugin{})
			for _, author := range []pipeline.Author{pipeline.AuthorNetwork, pipeline.AuthorShoot} {
				request := p.NewRequest(network(""), test.shoot, noEnvironment)
				request.Author = author
				built := p.Build(request)
				g.Expect(built.Applied().Accepted.Facts.Planned).To(Equal(test.want))
			}
		})
	}
}

// Pods of the network reach the API server from outside by the address for the world.
func TestTheExternalHostIsThatOfTheAddressForTheWorld(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []corev1beta1.AdvertisedAddress
		want      string
	}{
		"none":             {nil, ""},
		"for others":       {[]corev1beta1.AdvertisedAddress{{Name: "internal", URL: "https://api.mine.internal.example.com"}}, ""},
		"with port":        {[]corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://api.mine.example.com:443"}}, "api.mine.example.com"},
		"of IPv6":          {[]corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://[2001:db8::1]:443"}}, "2001:db8::1"},
		"among others":     {[]corev1beta1.AdvertisedAddress{{Name: "internal", URL: "https://a"}, {Name: "external", URL: "https://b"}}, "b"},
		"that is no URL":   {[]corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://a b"}}, ""},
		"that has no host": {[]corev1beta1.AdvertisedAddress{{Name: "external", URL: "api.mine.example.com"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := shoot(func(s *corev1beta1.Shoot) { s.Status.AdvertisedAddresses = test.addresses })
			facts := newPipeline(t, noopPlugin{}).NewRequest(network(""), s, noEnvironment).Facts
			NewWithT(t).Expect(facts.APIServer.ExternalHost).To(Equal(test.want))
		})
	}
}

func TestNodesAreCountedOverAllWorkers(t *testing.T) {
	g := NewWithT(t)
	facts := newPipeline(t, noopPlugin{}).NewRequest(network(""), shoot(func(s *corev1beta1.Shoot) {
		s.Spec.Provider.Workers = []corev1beta1.Worker{{Name: "a", Minimum: 1, Maximum: 2}, {Name: "b", Minimum: 1, Maximum: 5}}
	}), noEnvironment).Facts
	g.Expect([]int32{facts.NodesAtLeast, facts.NodesAtMost}).To(Equal([]int32{2, 7}))
}
