// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// audit records the requests of the controller's own client: all but those that fill
// caches and those that write events.
type audit struct {
	mutex sync.Mutex
	lines []string
	// dieAfter, if positive, is the number of writes after which the connection is
	// cut: the last of them is made, but its answer is not heard.
	dieAfter, writes int
	dead             bool
}

var errDead = errors.New("the process is dead")

func (a *audit) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		query := request.URL.Query()
		own := !query.Has("watch") && !query.Has("limit") && !query.Has("sendInitialEvents") &&
			!isDiscovery(request.URL.Path) && !strings.Contains(request.URL.Path, "/events")
		if !own {
			return next.RoundTrip(request)
		}
		if a.isDead() {
			return nil, errDead
		}
		response, err := next.RoundTrip(request)
		if err == nil && a.record(request.Method, fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, response.StatusCode)) {
			_ = response.Body.Close()
			return nil, errDead
		}
		return response, err
	})
}

func isDiscovery(path string) bool {
	trimmed := strings.Trim(path, "/")
	return strings.HasPrefix(trimmed, "apis") && strings.Count(trimmed, "/") < 3 || strings.HasPrefix(trimmed, "api") && strings.Count(trimmed, "/") < 2
}

// record reports whether the process dies of this request.
func (a *audit) record(method, line string) (dies bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.lines = append(a.lines, line)
	if method != http.MethodGet {
		a.writes++
	}
	a.dead = a.dead || a.dieAfter > 0 && a.writes >= a.dieAfter
	return a.dead
}

func (a *audit) isDead() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.dead
}

func (a *audit) all() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.Clone(a.lines)
}

// reset forgets all requests, and has the process die after some writes; 0 means
// never.
func (a *audit) reset(dieAfter int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.lines, a.writes, a.dieAfter, a.dead = nil, 0, dieAfter, false
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
