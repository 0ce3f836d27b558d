// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Guard calls a plugin. It returns a panic as an error with the place of the panic, so
// that a defect of one plugin does not stop the networks of the others.
func Guard(networkType string, call func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the %s plugin panicked%s: %v", networkType, placeOfPanic(), reason)
		}
	}()
	return call()
}

// placeOfPanic is for the deferred function that has recovered.
func placeOfPanic() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf(" at %s:%d", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
