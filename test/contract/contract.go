// SPDX-License-Identifier: Apache-2.0

// Package contract checks Trellis against Gardener's contract from the other side:
// a gardenlet writes Networks and waits for them, a resource manager like
// Gardener's applies what Trellis writes, and both know nothing but the contract.
// Each test runs with Trellis' CRDs or with schemas such as a Gardener landscape
// has, which prune what is Trellis' own, or with both.
//
// docs/gardener-contract.md states the behaviours of the contract, each with an id.
// A test in any package states with [Shows] which of them it shows; make contract
// compares what the tests that passed have shown with the document.
package contract

import (
	"fmt"
	"slices"
	"testing"
)

// Attribute is the key under which the JSON output of a test has the id of a behaviour
// that the test shows.
const Attribute = "gardener-contract"

// behaviours has for each letter how many behaviours docs/gardener-contract.md defines:
// N is N1 to N38. An id is never used for another behaviour.
var behaviours = map[string]int{
	"A": 5, "C": 14, "H": 6, "I": 2, "L": 8, "N": 38, "P": 6, "R": 36, "S": 2, "T": 3, "W": 4,
}

// Shows records that the test fails if Trellis, or what its tests use in place of
// Gardener, lacks one of the behaviours. The test fails at once if an id is unknown.
func Shows(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if !slices.Contains(IDs(), id) {
			t.Fatalf("docs/gardener-contract.md defines no behaviour %q", id)
		}
		t.Attr(Attribute, id)
	}
}

// IDs returns the ids of all behaviours, sorted by letter and number.
func IDs() []string {
	var ids []string
	for letter := 'A'; letter <= 'Z'; letter++ {
		for i := range behaviours[string(letter)] {
			ids = append(ids, fmt.Sprintf("%c%d", letter, i+1))
		}
	}
	return ids
}
