// SPDX-License-Identifier: Apache-2.0

package condition_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trellis-network/trellis/internal/condition"
)

func TestMessagesAreCutBetweenCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(3, 500).Draw(t, "limit")
		message := rapid.String().Draw(t, "message") + strings.Repeat("ä", rapid.IntRange(0, 400).Draw(t, "more"))
		short := condition.Shorten(message, limit)
		if len(short) > limit || strings.ToValidUTF8(short, "") != short {
			t.Fatalf("%q became %q", message, short)
		}
		if len(message) <= limit && short != message {
			t.Fatalf("%q was cut without need", message)
		}
	})
}
