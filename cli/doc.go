// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line, trellis: it checks what people write, shows the
// objects that come of it, and tells what a change does, with the same pipeline that
// the operator runs. It needs no cluster but to look at a network that runs, and
// never writes to one. Whoever builds an operator with other plugins gets a command line
// for them with Run.
//
// It refuses to know any plugin or infrastructure by name.
package cli
