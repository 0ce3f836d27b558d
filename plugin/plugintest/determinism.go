// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/trellis-network/trellis/pipeline"
)

const (
	// goroutines is how many build at a time.
	goroutines = 4
	// builds is how often each builds all networks: with so many networks often enough to
	// notice that the order of a map stands in some.
	builds = 2
)

// determinism: the same Request gives the same bytes, also when others are built
// before, after and meanwhile. With the race detector it shows more.
func determinism(s *suite, found *report) {
	networks := slices.DeleteFunc(slices.Clone(s.networks()), func(n network) bool {
		return !n.cluster.isPlain() && n.request.Environment.PodAccess == nil
	})
	var want []string
	for _, n := range networks {
		want = append(want, textOfResult(n.result))
	}
	var mutex sync.Mutex
	var all sync.WaitGroup
	for start := range goroutines {
		all.Go(func() {
			for i := range builds * len(networks) {
				at := (i + start*len(networks)/goroutines) % len(networks)
				got := textOfResult(s.pipeline.Build(networks[at].request))
				if got == want[at] {
					continue
				}
				mutex.Lock()
				s.unstable = true
				found.where = fmt.Sprintf("%s, where one line was once\n%s", networks[at].name, difference(want[at], got))
				found.breach("the same Request does not give the same bytes each time; the cause may be the order of a map, chance, the time, or a variable that outlives Render")
				mutex.Unlock()
			}
		})
	}
	all.Wait()
}

// textOfResult is all that a Result says.
func textOfResult(result pipeline.Result) string {
	return fmt.Sprintf("%s%s\n%s\n%v\n%v\n%v\n", textOfObjects(result.Objects), result.Config, textOf(result.Origins), result.Warnings, result.Errors, result.Objects.Components)
}

// difference shows the first line in which two texts differ.
func difference(one, other string) string {
	lines, others := strings.Split(one, "\n"), append(strings.Split(other, "\n"), "nothing")
	for i, line := range lines {
		if i == len(others) || line != others[i] {
			return fmt.Sprintf("%s\nand once %s", line, others[min(i, len(others)-1)])
		}
	}
	return "more than that"
}
