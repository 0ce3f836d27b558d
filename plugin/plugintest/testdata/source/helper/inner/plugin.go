// SPDX-License-Identifier: Apache-2.0

// Package inner is one that a plugin has below its own.
package inner

import "math/rand/v2"

// Port is any.
func Port() int { return rand.IntN(1000) }
