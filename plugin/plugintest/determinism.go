// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trellis-network/trellis/pipeline"
)

const (
	// builds is how often all networks are built one after the other: with so many
	// networks often enough to notice that the order of a map stands in some.
	builds = 3
	// goroutines is how many build at a time.
	goroutines = 4
)

// determinism: the same Request gives the same bytes, also when others are built
// before, after and meanwhile. With the race detector it shows more.
func determinism(s *suite, found *report) {
	var requests []pipeline.Request
	var names, want []string
	for _, n := range s.networks() {
		if n.cluster.isPlain() || n.request.Environment.PodAccess != nil {
			requests, names, want = append(requests, n.request), append(names, n.name), append(want, everythingOf(n.result))
		}
	}
	var mutex sync.Mutex
	differs := func(i int, got string) {
		mutex.Lock()
		defer mutex.Unlock()
		found.breachIn(fmt.Sprintf("%s, where one line was once\n%s", names[i], difference(want[i], got)),
			"the same Request does not give the same bytes each time; look for the order of a map, chance, the time, or a variable that outlives Render")
	}
	for range builds {
		for i, request := range requests {
			if got := everythingOf(s.pipeline.Build(reordered(request))); got != want[i] {
				differs(i, got)
			}
		}
	}
	var all sync.WaitGroup
	for start := range goroutines {
		all.Go(func() {
			for i := range requests {
				at := (i + start*len(requests)/goroutines) % len(requests)
				if got := everythingOf(s.pipeline.Build(requests[at])); got != want[at] {
					differs(at, got)
				}
			}
		})
	}
	all.Wait()
}

// buildAgain builds one network so often that chance shows.
func (s *suite) buildAgain() bool {
	plain := s.plainNetworks()
	if len(plain) == 0 {
		return true
	}
	want := everythingOf(plain[0].result)
	for range 50 {
		if everythingOf(s.pipeline.Build(plain[0].request)) != want {
			return false
		}
	}
	return true
}

// everythingOf is all that a Result says.
func everythingOf(result pipeline.Result) string {
	return fmt.Sprintf("%s%s\n%s\n%v\n%v\n%v\n", objectsOf(result.Objects), result.Config, textOf(result.Origins), result.Warnings, result.Errors, result.Objects.Components)
}

// reordered is the same Request with the fields of the config in another order.
func reordered(request pipeline.Request) pipeline.Request {
	fields := fieldsIn(configOf(&request))
	if len(fields) == 0 {
		return request
	}
	slices.Reverse(fields)
	text := []byte{'{'}
	for i, field := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", field.name, field.json)
	}
	request.Spec.ProviderConfig = &runtime.RawExtension{Raw: append(text, '}')}
	return request
}

// difference shows the first line in which two texts differ.
func difference(one, other string) string {
	lines, others := bytes.Split([]byte(one), []byte("\n")), bytes.Split([]byte(other), []byte("\n"))
	for i, line := range lines {
		if i >= len(others) {
			return fmt.Sprintf("%s\nand once not", line)
		}
		if !bytes.Equal(line, others[i]) {
			return fmt.Sprintf("%s\nand once %s", line, others[i])
		}
	}
	return "more than that"
}
