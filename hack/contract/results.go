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
	failed   map[test]bool
	stated   map[test][]string // ids of behaviours
	output   map[test][]string
}

func newResults(progress io.Writer) *results {
	return &results{
		progress: progress, passed: map[test]bool{}, failed: map[test]bool{}, stated: map[test][]string{}, output: map[test][]string{},
	}
}

// read adds the events of a stream. Lines that are no events are printed.
func (r *results) read(stream io.Reader) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			one := event{}
			if json.Unmarshal(line, &one) != nil {
				fmt.Fprintf(r.progress, "%s", line)
			} else {
				r.take(one)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) take(one event) {
	of := test{one.Package, one.Test}
	switch one.Action {
	case "build-output":
		fmt.Fprint(r.progress, one.Output)
	case "output":
		r.output[of] = append(r.output[of], one.Output)
	case "attr":
		if one.Key == contract.Attribute {
			r.stated[of] = append(r.stated[of], one.Value)
		}
	case "pass", "skip", "fail":
		if one.Action == "pass" {
			r.passed[of] = true
		}
		if one.Action == "fail" {
			r.failed[of] = true
			fmt.Fprint(r.progress, strings.Join(r.output[of], ""))
		} else if one.Test == "" {
			fmt.Fprintf(r.progress, "%s\t%s\t%.1fs\n", one.Action, one.Package, one.Elapsed)
		}
		delete(r.output, of)
	}
}

// shown returns the tests that show each behaviour, by their package below the module.
// A test counts if it, and the test that it is part of, passed each time.
func (r *results) shown() map[string]map[test]bool {
	shown := map[string]map[test]bool{}
	for of, ids := range r.stated {
		top, _, _ := strings.Cut(of.name, "/")
		whole := test{of.pkg, top}
		if !r.passed[of] || !r.passed[whole] || r.failed[of] || r.failed[whole] {
			continue
		}
		whole.pkg = strings.TrimPrefix(of.pkg, module+"/")
		for _, id := range ids {
			if shown[id] == nil {
				shown[id] = map[test]bool{}
			}
			shown[id][whole] = true
		}
	}
	return shown
}
