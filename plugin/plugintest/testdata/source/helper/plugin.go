// SPDX-License-Identifier: Apache-2.0

// Package helper has a hook that calls a package below.
package helper

import "example.com/helper/inner"

type definition struct{}

func (definition) Render() int { return inner.Port() }
