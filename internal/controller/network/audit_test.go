// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// audit counts the requests of the controller's own client: all but those that
// fill caches or record events.
type audit struct {
	mutex  sync.Mutex
	notes  []*note
	answer func(line string)
	refuse func(request *http.Request) error
}

type note struct{ line string }

func (a *audit) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		query := request.URL.Query()
		own := !query.Has("watch") && !query.Has("limit") && !query.Has("sendInitialEvents") &&
			!strings.Contains(request.URL.Path, "/events") && strings.Count(request.URL.Path, "/") > 4
		if !own {
			return next.RoundTrip(request)
		}
		// Noted before its effect can be seen, so that a test which sees the effect
		// sees the note.
		noted := &note{line: request.Method + " " + request.URL.Path}
		a.mutex.Lock()
		a.notes = append(a.notes, noted)
		answer, refuse := a.answer, a.refuse
		a.mutex.Unlock()
		if refuse != nil {
			if err := refuse(request); err != nil {
				return nil, err
			}
		}
		response, err := next.RoundTrip(request)
		if err == nil {
			a.mutex.Lock()
			noted.line += fmt.Sprintf(" %d", response.StatusCode)
			line := noted.line
			a.mutex.Unlock()
			if answer != nil {
				answer(line)
			}
		}
		return response, err
	})
}

// onAnswer has f see each answer before the controller does.
func (a *audit) onAnswer(f func(line string)) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.answer = f
}

// beforeRequest has f see each request, and fail it if it wants to.
func (a *audit) beforeRequest(f func(request *http.Request) error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.refuse = f
}

func (a *audit) all() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var lines []string
	for _, n := range a.notes {
		lines = append(lines, n.line)
	}
	return lines
}

func (a *audit) forget() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.notes = nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
