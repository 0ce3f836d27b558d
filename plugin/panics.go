// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Recovered is the error that stands for a panic of a plugin's, with the place where it
// panicked, as the rest of a sentence about the plugin. It is for the deferred function
// that has recovered reason.
func Recovered(reason any) error {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("panicked at %s:%d: %v", filepath.Base(frame.File), frame.Line, reason)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return fmt.Errorf("panicked: %v", reason)
		}
	}
}
