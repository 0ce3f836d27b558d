// SPDX-License-Identifier: Apache-2.0

package condition

import "strings"

// MaxMessage is how many bytes a message has at most that Trellis writes into a status or a
// log line, however long the answer of a cluster is. docs/security.md has all limits.
const MaxMessage = 4096

// Shorten cuts a message between two characters so that it has at most limit bytes. A
// message that is cut ends with an ellipsis.
func Shorten(message string, limit int) string {
	const ellipsis = "…"
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len(ellipsis)], "") + ellipsis
}
