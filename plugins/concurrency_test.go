// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// Controllers build many networks at a time with one plugin. With -race this finds
// what two of them share and one of them changes; without, fewer builds will do.
func TestBuildIsSafeForManyAtATime(t *testing.T) {
	goroutines, builds := 16, 100
	if raceDetector {
		builds = 1000
	}
	p, err := pipeline.New(plugins.All(), providers.All())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	requests := requestsOfAllTypes(p)
	var all sync.WaitGroup
	for start := range goroutines {
		all.Go(func() {
			for i := range builds {
				request := requests[(start+i)%len(requests)]
				if result := p.Build(request); len(result.Errors) > 0 || len(result.Objects.For(plugin.Shoot)) == 0 {
					t.Errorf("%s: %d objects, %v", request.Spec.Type, len(result.Objects.For(plugin.Shoot)), result.Errors)
					return
				}
			}
		})
	}
	all.Wait()
}

// requestsOfAllTypes are Requests for clusters that differ in what plugins look at.
func requestsOfAllTypes(p *pipeline.Pipeline) []pipeline.Request {
	var requests []pipeline.Request
	for _, networkType := range p.Types() {
		network := &extensionsv1alpha1.Network{}
		network.Name, network.Namespace = "one", "shoot--dev--one"
		network.Spec.Type, network.Spec.PodCIDR, network.Spec.ServiceCIDR = networkType, "100.64.0.0/12", "100.96.0.0/13"
		for i := range 4 {
			request := p.NewRequest(network, nil, plugin.Environment{})
			request.Facts.VPA, request.Nodes = i%2 == 0, int32(100*i)
			request.Facts.NodeLocalDNS = i > 2
			if i == 1 {
				request.Environment.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
			}
			requests = append(requests, request)
		}
	}
	return requests
}
