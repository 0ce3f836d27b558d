// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// readFault says which reads are answered as they were at an earlier moment.
type readFault struct {
	// lists has what watches begin with come from the time of an earlier process.
	lists bool
	// objects has reads of single objects answered as before the last change, for
	// kinds whose name is among them. What a process has changed itself it sees.
	objects []string
	// within is how long after the start of the process this goes on.
	within time.Duration
}

// past is what was read in a run, by URL.
type past struct {
	mu     sync.Mutex
	lists  map[string][][]byte
	single map[string][]*answer
}

// read sends a read, or serves an older answer.
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

// count counts a fault that is none of a write.
func (t *transport) count() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults++
}

// remember keeps what a watch began with, for processes that come later.
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
