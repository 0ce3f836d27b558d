// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// errDead is the error of each request of a killed process.
var errDead = errors.New("the process is dead")

// errTimeout is the error of a request whose answer came too late.
type errTimeout struct{}

func (errTimeout) Error() string {
	return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
}
func (errTimeout) Timeout() bool { return true }

// Faults that a write may meet.
const (
	conflict     = "409"
	tooMany      = "429"
	timeout      = "timeout after landing"
	lostTimeout  = "timeout before landing"
	forbidden    = "403"
	noFault      = ""
	retryAfter   = "1"
	discoverable = 3 // parts in the path of a discovery document, at most
)

// disturbance is what happens to the requests of one process. The zero value disturbs nothing.
type disturbance struct {
	// killAt is the number of the write at which the process dies, or 0. If lost is set, this
	// write does not arrive.
	killAt int
	lost   bool
	// fault returns the fault of the n-th write.
	fault func(n int, w *write) string
	// watches disturbs watches, and reads makes reads return older data.
	watches watchFault
	reads   readFault
}

// transport sends all requests of one process. It records the writes, and adds the
// disturbance.
type transport struct {
	disturbance
	world   *world
	process int
	cancel  context.CancelFunc

	mu     sync.Mutex
	dead   bool
	writes int
	faults int
	died   chan struct{}
	cured  map[string]int
	begun  time.Time
	// wrote has the cluster and path of each object that the process has changed.
	wrote sync.Map
}

// of returns the transport to one cluster, the seed or the shoot.
func (t *transport) of(cluster string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		return t.roundTrip(cluster, request, next)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (t *transport) roundTrip(cluster string, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if t.isDead() {
		return nil, errDead
	}
	request = inJSON(request)
	switch {
	case isWatch(request):
		return t.watch(cluster, request, next)
	case isWrite(request):
		return t.write(cluster, request, next)
	case isDiscovery(request):
		return t.world.discover(request, next)
	default:
		return t.read(cluster, request, next)
	}
}

func (t *transport) isDead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

// now returns the present disturbance, and the time since it began.
func (t *transport) now() (disturbance, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disturbance, time.Since(t.begun)
}

// write sends a write, unless the disturbance prevents it.
func (t *transport) write(cluster string, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	t.mu.Lock()
	if t.dead {
		t.mu.Unlock()
		return nil, errDead
	}
	t.writes++
	n := t.writes
	now := t.disturbance
	kill := n == now.killAt
	t.dead = kill
	t.mu.Unlock()

	w := newWrite(cluster, t.process, request)
	fault := noFault
	if now.fault != nil && !kill {
		if fault = now.fault(n, w); fault != noFault {
			t.mu.Lock()
			t.faults++
			t.mu.Unlock()
		}
	}
	switch {
	case kill && now.lost:
		t.kill()
		return nil, errDead
	case fault == lostTimeout:
		return nil, errTimeout{}
	case fault != noFault && fault != timeout:
		return refusal(request, w, fault), nil
	}
	t.wrote.Store(cluster+request.URL.Path, nil)
	// The request arrives even if the process ends meanwhile.
	response, err := t.world.record(w, request.WithContext(context.WithoutCancel(request.Context())), next)
	switch {
	case kill:
		t.kill()
		return nil, errDead
	case t.isDead():
		return nil, errDead
	case fault == timeout && err == nil:
		return nil, errTimeout{}
	}
	return response, err
}

// kill cancels the process's context. write has already marked the process as dead, so that none
// of its later requests is sent.
func (t *transport) kill() {
	t.cancel()
	close(t.died)
}

// record sends a write and records the answer.
func (w *world) record(one *write, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	w.begin(one)
	response, err := next.RoundTrip(request)
	if err != nil {
		w.end(one, 0, nil)
		return nil, err
	}
	raw, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(raw))
	w.end(one, response.StatusCode, raw)
	return response, err
}

// refusal returns the answer of an API server that rejects a write.
func refusal(request *http.Request, w *write, fault string) *http.Response {
	code, reason, message := http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again"
	header := http.Header{"Content-Type": {"application/json"}}
	switch fault {
	case tooMany:
		code, reason, message = http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later"
		header.Set("Retry-After", retryAfter)
	case forbidden:
		code, reason, message = http.StatusForbidden, "Forbidden", "denied by the test"
	}
	message = fmt.Sprintf("%s %q is %s: %s", w.resource, w.name, strings.ToLower(reason), message)
	if fault == conflict {
		message = fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified", w.resource, w.name)
	}
	body, _ := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
		"details": map[string]any{"name": w.name, "group": w.group, "kind": w.resource},
	})
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}
}

// inJSON returns the request with JSON instead of protobuf as the type of the answer.
func inJSON(request *http.Request) *http.Request {
	accept := request.Header.Get("Accept")
	if !strings.Contains(accept, "protobuf") {
		return request
	}
	request = request.Clone(request.Context())
	request.Header.Set("Accept", strings.ReplaceAll(accept, "application/vnd.kubernetes.protobuf", "application/json"))
	return request
}

func isWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// isWrite reports whether a request changes objects. Events, Leases and reviews do not count.
func isWrite(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		return false
	}
	path := request.URL.Path
	return !request.URL.Query().Has("dryRun") && !slices.ContainsFunc([]string{"/events", "/leases", "reviews"},
		func(part string) bool { return strings.Contains(path, part) })
}

func isDiscovery(request *http.Request) bool {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	return len(parts) <= discoverable && (parts[0] == "apis" || parts[0] == "api" && len(parts) < discoverable)
}

// answer is an answer of an API server.
type answer struct {
	code int
	kind string
	body []byte
}

func (a *answer) response(request *http.Request) *http.Response {
	return &http.Response{
		Status: http.StatusText(a.code), StatusCode: a.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)), Request: request,
	}
}

// answered reads a response.
func answered(response *http.Response) (*answer, error) {
	raw, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	return &answer{response.StatusCode, response.Header.Get("Content-Type"), raw}, err
}

// documents are the discovery documents, which are the same for all runs.
var documents sync.Map

// discover answers a discovery request from the cache. Without the cache, discovery would be
// most of the cost of a run.
func (w *world) discover(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	key := request.URL.String() + request.Header.Get("Accept")
	if known, ok := documents.Load(key); ok && !w.kindsChange {
		return known.(*answer).response(request), nil
	}
	response, err := next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	got, err := answered(response)
	if err != nil {
		return nil, err
	}
	documents.Store(key, got)
	return got.response(request), nil
}
