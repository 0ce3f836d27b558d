// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// watchFault is what happens to the events of all watches of a process. After a lost or
// reordered event, the watch expires, as API servers let watches expire, and the client lists
// again.
type watchFault string

const (
	calm    watchFault = ""
	lag     watchFault = "lag"
	drop    watchFault = "drop"
	repeat  watchFault = "repeat"
	reorder watchFault = "reorder"
)

const (
	// lagging is the delay of events.
	lagging = 400 * time.Millisecond
	// cureAfter is the time from a lost or reordered event until the watch expires.
	cureAfter = 300 * time.Millisecond
	// mostCures is how often the watches of one kind expire in a process. There is a limit,
	// since client-go waits longer each time before it lists again.
	mostCures = 2
	// expired is the event that ends a watch.
	expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}`
)

// watch opens a watch and disturbs its events.
func (t *transport) watch(cluster string, request *http.Request, next http.RoundTripper) (*http.Response, error) {
	key := cluster + request.URL.Path + "?" + request.URL.Query().Get("labelSelector")
	lists := request.URL.Query().Get("sendInitialEvents") == "true"
	now, since := t.now()
	if old := t.world.past.recall(key); lists && now.reads.lists && since < now.reads.within && old != nil {
		t.count()
		return replay(request, old, now.reads.within), nil
	}
	response, err := next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return response, err
	}
	source := response.Body
	reader, writer := io.Pipe()
	response.Body = &stream{reader, source}
	out := &events{transport: t, key: key, to: writer, initial: lists}
	go out.pump(source)
	return response, nil
}

// replay answers with the objects with which an earlier process's watch began. After a while
// the watch expires.
func replay(request *http.Request, frames [][]byte, within time.Duration) *http.Response {
	reader, writer := io.Pipe()
	go func() {
		for _, frame := range frames {
			if _, err := writer.Write(append(frame[:len(frame):len(frame)], '\n')); err != nil {
				return
			}
		}
		select {
		case <-time.After(within):
			_, _ = writer.Write([]byte(expired + "\n"))
		case <-request.Context().Done():
		}
		_ = writer.Close()
	}()
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: &stream{reader, io.NopCloser(nil)}, Request: request,
	}
}

// stream is the body of a watch.
type stream struct {
	*io.PipeReader
	source io.Closer
}

// Close closes the pipe and its source.
func (s *stream) Close() error {
	_ = s.source.Close()
	return s.PipeReader.Close()
}

// events carries the events of one watch.
type events struct {
	transport *transport
	key       string
	to        *io.PipeWriter
	// initial means that the watch still sends the objects that existed before it.
	initial bool
	began   [][]byte
	// held is an event that the next event overtakes.
	held []byte
	// wrongSince is the time of the first lost or reordered event.
	wrongSince time.Time
	count      int
}

type frame struct {
	raw json.RawMessage
	at  time.Time
	err error
}

func (e *events) pump(source io.Reader) {
	frames := make(chan frame, 1024)
	go func() {
		defer close(frames)
		decoder := json.NewDecoder(source)
		for {
			var raw json.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				frames <- frame{err: err}
				return
			}
			frames <- frame{raw: raw, at: time.Now()}
		}
	}()
	err := e.carry(frames)
	_ = e.to.CloseWithError(err)
	for range frames { // drain it, so that the decoder does not block until the source ends
	}
}

// carry forwards events until the watch ends or expires.
func (e *events) carry(frames <-chan frame) error {
	var cure <-chan time.Time
	for {
		if cure == nil && !e.wrongSince.IsZero() {
			cure = time.After(cureAfter)
		}
		select {
		case <-cure:
			_, _ = e.to.Write([]byte(expired + "\n"))
			return io.EOF
		case next, ok := <-frames:
			if !ok || next.err != nil {
				return next.err
			}
			if now, _ := e.transport.now(); now.watches == lag && !e.initial {
				<-time.After(time.Until(next.at.Add(lagging)))
			}
			if err := e.pass(next.raw); err != nil {
				return err
			}
		}
	}
}

func (e *events) pass(raw []byte) error {
	var head struct {
		Type   string `json:"type"`
		Object struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if e.initial {
		e.began = append(e.began, raw)
		if head.Type == "BOOKMARK" && head.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
			e.initial = false
			e.transport.world.past.remember(e.key, e.began)
		}
		return e.send(raw)
	}
	if head.Type == "BOOKMARK" || head.Type == "ERROR" {
		return e.send(raw)
	}
	e.count++
	now, _ := e.transport.now()
	switch now.watches {
	case lag:
		e.transport.count()
	case repeat:
		e.transport.count()
		if err := e.send(raw); err != nil {
			return err
		}
	case drop:
		if e.count%2 == 1 && e.mayGoWrong() {
			return nil
		}
	case reorder:
		if e.held != nil {
			held := e.held
			e.held = nil
			if err := e.send(raw); err != nil {
				return err
			}
			return e.send(held)
		}
		if e.count%3 == 1 && e.mayGoWrong() {
			e.held = raw
			return nil
		}
	}
	return e.send(raw)
}

// mayGoWrong reports whether an event may be lost or reordered now, and records the time.
func (e *events) mayGoWrong() bool {
	t := e.transport
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.wrongSince.IsZero() {
		if t.cured[e.key] >= mostCures {
			return false
		}
		t.cured[e.key]++
		e.wrongSince = time.Now()
	}
	t.faults++
	return true
}

func (e *events) send(raw []byte) error {
	_, err := e.to.Write(append(raw[:len(raw):len(raw)], '\n'))
	return err
}
