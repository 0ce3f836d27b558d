// SPDX-License-Identifier: Apache-2.0

// Package hostname has a hook that goes by what the program has found out at its start.
package hostname

import "os"

var host, _ = os.Hostname()

type definition struct{}

func (definition) Render() string { return "" }

func (definition) Default() string { return host }
