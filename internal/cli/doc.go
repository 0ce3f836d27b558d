// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line, trellis: it checks what people write and
// shows the objects that come of it, with the same pipeline that the operator
// runs, and without any cluster.
//
// It refuses to know any plugin or infrastructure by name.
package cli
