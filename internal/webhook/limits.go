// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/trellis-network/trellis/internal/jsoncost"
	"github.com/trellis-network/trellis/internal/keyed"
)

// What requests to the webhooks may cost. Who reaches the server may not be an API server, and
// users of a shoot can have its API server send what they like.
const (
	maxRequest   = 7 << 20  // bytes of one, as controller-runtime has it
	leastRequest = 64 << 10 // bytes that any request counts
	maxSender    = 8 << 20  // bytes of all requests of one address at the same time
	maxRequests  = 64 << 20 // bytes of all
	patience     = 5 * time.Second
)

// limits let requests wait, and refuse those that are too large, or that wait or are read for
// too long.
type limits struct {
	all     *semaphore.Weighted
	senders keyed.Map[string, *sender]
}

// sender is an address with requests.
type sender struct {
	requests int
	bytes    *semaphore.Weighted
}

func newLimits() *limits { return &limits{all: semaphore.NewWeighted(maxRequests)} }

// around returns a handler that answers as next does the requests that are admitted.
func (l *limits) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, next) })
}

func (l *limits) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	size := max(r.ContentLength, leastRequest)
	if r.ContentLength < 0 || size > maxRequest {
		http.Error(w, "the request must state its length, at most 7 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	leave, admitted := l.enter(r, size)
	if !admitted {
		http.Error(w, "there are too many requests", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(patience)) // a server of net/http has deadlines
	body, err := io.ReadAll(io.LimitReader(r.Body, size))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
		return
	}
	if _, err := (&jsoncost.Scanner{}).Scan(body); err != nil {
		http.Error(w, "the request "+err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
}

// enter waits until a request may be read.
func (l *limits) enter(r *http.Request, size int64) (leave func(), admitted bool) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	from := l.senders.Update(address, func(s *sender, known bool) (*sender, bool) {
		if !known {
			s = &sender{bytes: semaphore.NewWeighted(maxSender)}
		}
		s.requests++
		return s, true
	})
	forget := func() {
		l.senders.Update(address, func(s *sender, _ bool) (*sender, bool) {
			s.requests--
			return s, s.requests > 0
		})
	}
	if from.bytes.Acquire(ctx, size) != nil {
		forget()
		return nil, false
	}
	if l.all.Acquire(ctx, size) != nil {
		from.bytes.Release(size)
		forget()
		return nil, false
	}
	return func() {
		l.all.Release(size)
		from.bytes.Release(size)
		forget()
	}, true
}
