// SPDX-License-Identifier: Apache-2.0

package condition

import "strings"

// Shorten cuts a message between two characters so that it has at most limit bytes. A
// message that is cut ends with an ellipsis.
func Shorten(message string, limit int) string {
	const ellipsis = "…"
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len(ellipsis)], "") + ellipsis
}
