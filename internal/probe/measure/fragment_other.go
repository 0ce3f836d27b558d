// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package measure

import (
	"errors"
	"syscall"
)

// ForbidFragments returns an error: probes run on Linux.
func ForbidFragments(syscall.RawConn) error { return errors.ErrUnsupported }
