// SPDX-License-Identifier: Apache-2.0

// Package clock keeps the time in init.
package clock

import "time"

var started string

func init() { started = time.Now().String() }

type definition struct{}

func (definition) Render() string { return started }
