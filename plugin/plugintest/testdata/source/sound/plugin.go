// SPDX-License-Identifier: Apache-2.0

// Package sound has hooks that go by their arguments, beside a program that does not.
package sound

import (
	"os"
	"time"
)

const leastTime = 5 * time.Second

type definition struct{}

func (definition) Render() (string, time.Duration) { return name(), leastTime }

func name() string { return "sound" }

// Main is no hook, and none calls it.
func Main() { println(os.Getenv("HOME"), os.Args[0]) }
