// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/trellis-network/trellis/test/contract"
)

// module is what the packages' import paths begin with.
const module = "github.com/trellis-network/trellis/"

// event is a line of what `go test -json` prints.
type event struct {
	Action, Package, Test, Output, Key, Value string
	Elapsed                                   float64
}

// test is a test of a package; without a name it is the package.
type test struct{ pkg, name string }

// results are what test events say.
type results struct {
	// progress gets what `go test` prints without -v.
	progress io.Writer
	passed   map[test]bool
	failed   int
	stated   map[test][]string // ids of behaviours
	output   map[test]string
}

func newResults(progress io.Writer) *results {
	return &results{progress: progress, passed: map[test]bool{}, stated: map[test][]string{}, output: map[test]string{}}
}

// read adds the events of a stream. Lines that are no events are printed.
func (r *results) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 16<<20) // an event may be long
	for lines.Scan() {
		one := event{}
		if json.Unmarshal(lines.Bytes(), &one) != nil {
			fmt.Fprintln(r.progress, lines.Text())
		} else {
			r.take(one)
		}
	}
	return lines.Err()
}

func (r *results) take(one event) {
	of := test{strings.TrimPrefix(one.Package, module), one.Test}
	switch one.Action {
	case "build-output":
		fmt.Fprint(r.progress, one.Output)
	case "output":
		r.output[of] += one.Output
	case "attr":
		if one.Key == contract.Attribute {
			r.stated[of] = append(r.stated[of], one.Value)
		}
	case "pass", "skip", "fail":
		if one.Action == "fail" {
			r.failed++
			fmt.Fprint(r.progress, r.output[of])
		} else if one.Test == "" {
			fmt.Fprintf(r.progress, "%s\t%s\t%.1fs\n", one.Action, one.Package, one.Elapsed)
		}
		r.passed[of] = one.Action == "pass"
		delete(r.output, of)
	}
}

// shown returns the tests that show each behaviour. A test counts if it, and the test that
// it is part of, passed.
func (r *results) shown() map[string]map[test]bool {
	shown := map[string]map[test]bool{}
	for of, ids := range r.stated {
		top, _, _ := strings.Cut(of.name, "/")
		whole := test{of.pkg, top}
		if !r.passed[of] || !r.passed[whole] {
			continue
		}
		for _, id := range ids {
			if shown[id] == nil {
				shown[id] = map[test]bool{}
			}
			shown[id][whole] = true
		}
	}
	return shown
}
