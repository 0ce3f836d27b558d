// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// RoundTripper is a function that sends requests.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Request is a recorded request.
type Request struct {
	Method, Path string
	DryRun       bool
	// Body is the body of a patch.
	Body string
	// Code is the status code of the answer, or 0 if there is no answer yet.
	Code int
}

// String returns a line like "PATCH /api/v1/namespaces/one/secrets/two dry-run 200".
func (r Request) String() string {
	line := r.Method + " " + r.Path
	if r.DryRun {
		line += " dry-run"
	}
	if r.Code != 0 {
		line += fmt.Sprintf(" %d", r.Code)
	}
	return line
}

// Writes reports whether the request changes something.
func (r Request) Writes() bool { return r.Method != http.MethodGet && !r.DryRun }

// Requests records a client's requests for objects. It omits Events, and the lists and
// watches of caches. The zero value is ready for use, also by several clients at once.
type Requests struct {
	// Everything makes it record all requests but watches.
	Everything bool

	mutex   sync.Mutex
	all     []*Request
	watches func(*http.Request) error
	before  func(*http.Request) error
	after   func(Request) error
}

// Wrap returns a transport that records the requests and sends them with next.
func (r *Requests) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		if watch := r.beforeWatch(); watch != nil && request.URL.Query().Has("watch") {
			if err := watch(request); err != nil {
				return nil, err
			}
		}
		if request.URL.Query().Has("watch") || strings.HasPrefix(request.URL.Path, recordedEvents) || !r.Everything && !concernsObjects(request) {
			return next.RoundTrip(request)
		}
		// Record the request before it is sent, so that a test that sees its effect also
		// sees the request.
		sent, before, after := r.add(request)
		if before != nil {
			if err := before(request); err != nil {
				return nil, err
			}
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		r.mutex.Lock()
		sent.Code = response.StatusCode
		answered := *sent
		r.mutex.Unlock()
		if after != nil {
			if err := after(answered); err != nil {
				_ = response.Body.Close()
				return nil, err
			}
		}
		return response, nil
	})
}

// recordedEvents is the path to which event recorders write. They write at any later time.
const recordedEvents = "/apis/events.k8s.io/"

// concernsObjects reports whether a request is neither discovery, nor the list of a cache,
// nor about an Event.
func concernsObjects(request *http.Request) bool {
	query, path := request.URL.Query(), strings.Trim(request.URL.Path, "/")
	discovers := strings.HasPrefix(path, "apis") && strings.Count(path, "/") < 3 || strings.HasPrefix(path, "api") && strings.Count(path, "/") < 2
	return !query.Has("limit") && !query.Has("sendInitialEvents") && !discovers && !strings.Contains(path, "/events")
}

func (r *Requests) add(request *http.Request) (sent *Request, before func(*http.Request) error, after func(Request) error) {
	sent = &Request{Method: request.Method, Path: request.URL.Path, DryRun: request.URL.Query().Has("dryRun")}
	if request.Method == http.MethodPatch && request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			raw, _ := io.ReadAll(body)
			sent.Body = string(raw)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = append(r.all, sent)
	return sent, r.before, r.after
}

// Before calls f with each request before it is sent. If f returns an error, the request is
// not sent and the client gets the error. A nil f ends this.
func (r *Requests) Before(f func(*http.Request) error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.before = f
}

// BeforeWatches calls f before each watch is sent, which fails with f's error. Watches are not
// recorded.
func (r *Requests) BeforeWatches(f func(*http.Request) error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.watches = f
}

func (r *Requests) beforeWatch() func(*http.Request) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.watches
}

// After calls f with each answer before the client gets it. If f returns an error, the client
// gets the error instead of the answer.
func (r *Requests) After(f func(Request) error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.after = f
}

// Sent returns the requests so far.
func (r *Requests) Sent() []Request {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	all := make([]Request, len(r.all))
	for i, one := range r.all {
		all[i] = *one
	}
	return all
}

// All returns the requests so far that contain all parts, each as a line.
func (r *Requests) All(parts ...string) []string {
	var lines []string
	for _, one := range r.Sent() {
		if line := one.String(); !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Writes returns the requests so far that change something, each as a line.
func (r *Requests) Writes() []string {
	var lines []string
	for _, one := range r.Sent() {
		if one.Writes() {
			lines = append(lines, one.String())
		}
	}
	return lines
}

// Forget removes all recorded requests.
func (r *Requests) Forget() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = nil
}
