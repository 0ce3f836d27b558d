// SPDX-License-Identifier: Apache-2.0

package calico_test

import (
	"sync"
	"testing"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Controllers build many networks at a time with one plugin. With -race this finds
// what two of them share and one of them changes; without, fewer builds will do.
func TestBuildIsSafeForManyAtATime(t *testing.T) {
	goroutines, builds := 16, 100
	if raceDetector {
		builds = 1000
	}
	p := newPipeline()
	requests := make([]pipeline.Request, len(matrix))
	for i, each := range matrix {
		requests[i] = requestFor(t, each.config, each.options()...)
		requests[i].Facts.VPA = i%2 == 0
		if i%3 == 0 {
			requests[i].Facts.PodAccess = &plugin.PodAccess{Host: "api.example.com", Port: "443"}
		}
	}
	var all sync.WaitGroup
	for start := range goroutines {
		all.Go(func() {
			for i := range builds {
				request := requests[(start+i)%len(requests)]
				if result := p.Build(request); len(result.Errors) > 0 || len(result.Objects.Shoot) < 50 {
					t.Errorf("%s: %d objects, %v", matrix[(start+i)%len(matrix)].name, len(result.Objects.Shoot), result.Errors)
					return
				}
			}
		})
	}
	all.Wait()
}
