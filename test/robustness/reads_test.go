// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// readFault makes reads return older data.
type readFault struct {
	// lists makes watches begin with the objects that an earlier process saw.
	lists bool
	// objects are resources. A read of a single object of these resources returns it as it was
	// before its last change, unless the process itself has changed it.
	objects []string
	// within is the time after the start of the process during which this happens.
	within time.Duration
}

// past has the answers to the reads of a run, by URL.
type past struct {
	mu     sync.Mutex
	lists  map[string][][]byte
	single map[string][]*answer
}

// read sends a read, and returns the answer or an older one.
func (t *transport) read(cluster string, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(request)
	if err != nil || request.Method != http.MethodGet || strings.HasPrefix(request.URL.Path, "/version") {
		return response, err
	}
	got, err := answered(response)
	if err != nil {
		return nil, err
	}
	past := &t.world.past
	past.mu.Lock()
	defer past.mu.Unlock()
	key := cluster + request.URL.String()
	seen := past.single[key]
	last := len(seen) - 1
	now, since := t.now()
	_, own := t.wrote.Load(cluster + request.URL.Path)
	if !own && since < now.reads.within && slices.ContainsFunc(now.reads.objects, func(kind string) bool {
		return strings.Contains(request.URL.Path, "/"+kind+"/")
	}) && last >= 0 {
		t.count()
		older := seen[last]
		if string(older.body) == string(got.body) && last > 0 {
			older = seen[last-1]
		}
		return older.response(request), nil
	}
	if last < 0 || string(seen[last].body) != string(got.body) {
		if past.single == nil {
			past.single = map[string][]*answer{}
		}
		past.single[key] = append(seen, got)
	}
	return got.response(request), nil
}

// count counts a fault of a read or watch.
func (t *transport) count() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults++
}

// remember stores the objects with which a watch began, for later processes.
func (p *past) remember(key string, frames [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lists == nil {
		p.lists = map[string][][]byte{}
	}
	if _, known := p.lists[key]; !known {
		p.lists[key] = frames
	}
}

func (p *past) recall(key string) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists[key]
}
