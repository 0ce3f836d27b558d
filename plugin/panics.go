// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
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

// placeOfPanic is for the deferred function that has recovered. Where the plugin has called
// a library that panicked, it is the place of that call.
func placeOfPanic() string {
	callers := make([]uintptr, 512)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	var ended []runtime.Frame // by the panic, the innermost first
	for panicked := false; ; {
		frame, more := frames.Next()
		switch {
		case panicked && strings.HasPrefix(frame.Function, seam):
			ended, more = ofHook(ended), false
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			ended = append(ended, frame)
		}
		if panicked = panicked || frame.Function == "runtime.gopanic"; !more {
			break
		}
	}
	if len(ended) == 0 {
		return ""
	}
	return fmt.Sprintf(" at %s:%d", filepath.Base(ended[0].File), ended[0].Line)
}

// ofHook leaves the frames of the package that has the hook, which was called first.
func ofHook(ended []runtime.Frame) []runtime.Frame {
	if len(ended) == 0 {
		return nil
	}
	own := packageOf(ended[len(ended)-1])
	return slices.DeleteFunc(ended, func(f runtime.Frame) bool { return packageOf(f) != own })
}

// seam begins the names of the functions through which a plugin is called.
var seam = reflect.TypeFor[Plugin]().PkgPath() + ".adapter["

// packageOf is the path of the package that a function is in.
func packageOf(frame runtime.Frame) string {
	folder := strings.LastIndex(frame.Function, "/") + 1
	name, _, _ := strings.Cut(frame.Function[folder:], ".")
	return frame.Function[:folder] + name
}
