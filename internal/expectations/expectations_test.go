// SPDX-License-Identifier: Apache-2.0

package expectations_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/expectations"
)

// cache is what a cache shows: resource versions by object.
type cache map[string]string

func (c cache) version(object string) string { return c[object] }

func TestACacheIsLateUntilItShowsAllThatWasWritten(t *testing.T) {
	g := NewWithT(t)
	e := &expectations.Expectations[string]{}
	shown := cache{}
	g.Expect(e.Late("one", shown.version)).To(BeFalse(), "nothing was written")

	e.Expect("one", "network", "9")
	e.Expect("one", "network", "10")
	e.Expect("one", "bundle", "7")
	g.Expect(e.Late("two", shown.version)).To(BeFalse(), "another key")
	g.Expect(e.Late("one", shown.version)).To(BeTrue())
	shown["network"], shown["bundle"] = "9", "8"
	g.Expect(e.Late("one", shown.version)).To(BeTrue(), "9 is older than 10")
	shown["network"] = "10"
	g.Expect(e.Late("one", shown.version)).To(BeFalse())

	delete(shown, "bundle")
	g.Expect(e.Late("one", shown.version)).To(BeFalse(), "it was shown once, so it was deleted since")
}

func TestAnObjectThatNeverShowsUpIsGivenUp(t *testing.T) {
	g := NewWithT(t)
	e := &expectations.Expectations[string]{MaxChecks: 3}
	e.Expect("one", "bundle", "7")
	for range 3 {
		g.Expect(e.Late("one", cache{}.version)).To(BeTrue())
	}
	g.Expect(e.Late("one", cache{}.version)).To(BeFalse())
	e.Expect("one", "bundle", "8")
	g.Expect(e.Late("one", cache{}.version)).To(BeTrue(), "another write starts again")
	e.Forget("one")
	g.Expect(e.Late("one", cache{}.version)).To(BeFalse())
}
