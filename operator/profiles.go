// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/pprof"
)

// profiles returns what serves Go's profiles, by path; nil unless the configuration enables it.
func (o *Options) profiles() map[string]http.Handler {
	if !o.Config.Debugging.EnableProfiling {
		return nil
	}
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index), // and the profiles that have a name
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
