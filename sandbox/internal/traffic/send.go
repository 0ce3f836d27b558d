// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Load is what to send, and where to.
type Load struct {
	// To is a Server's address, as host:port.
	To string
	// Every is the time between two datagrams, and HTTPEvery that between the end of an HTTP
	// request and the next one of its kind.
	Every, HTTPEvery time.Duration
	// For is how long to send.
	For time.Duration
	// Timeout is how long to wait for the answer to a request, and, at the end, to the last
	// datagrams.
	Timeout time.Duration
}

// Report is what became of a Load.
type Report struct {
	// UDP are the datagrams, and HTTP the requests on fresh connections. A datagram is lost if its
	// answer is.
	UDP  Count `json:"udp"`
	HTTP Count `json:"http"`
	// Kept are requests on a connection that is kept.
	Kept Kept `json:"kept"`
	// Gaps are the datagrams that were lost one after the other, at most maxGaps of them, the
	// first ones.
	Gaps []Gap `json:"gaps,omitempty"`
	// Errors are those of the first requests that failed, at most maxErrors of each kind.
	Errors []string `json:"errors,omitempty"`
}

// Count counts what was sent.
type Count struct {
	Sent int `json:"sent"`
	// Lost are those without an answer.
	Lost int `json:"lost"`
	// Slowest is the longest time until an answer, in milliseconds.
	Slowest float64 `json:"slowestMilliseconds"`
}

// Kept counts requests on a connection that stays open from one to the next.
type Kept struct {
	Count
	// Connections is how many were opened: one, and another one each time that it broke.
	Connections int `json:"connections"`
}

// Gap is datagrams that were lost, with none between them that was not.
type Gap struct {
	// From is when the first of them was sent.
	From time.Time `json:"from"`
	Lost int       `json:"lost"`
	// Milliseconds is the time from when the first was sent to when the last was.
	Milliseconds float64 `json:"milliseconds"`
}

const (
	maxGaps   = 20
	maxErrors = 5
	// maxDatagrams limits the memory that a Load needs.
	maxDatagrams = 10_000_000
)

// Send sends datagrams and requests, and returns when all are answered or lost. If ctx ends
// earlier, it reports what was sent until then. It returns an error if the load is not valid, or
// the address cannot be resolved.
func (l Load) Send(ctx context.Context) (*Report, error) {
	if l.Every <= 0 || l.For <= 0 || l.Timeout <= 0 || l.HTTPEvery < 0 || l.For/l.Every > maxDatagrams {
		return nil, fmt.Errorf("cannot send every %s for %s with a timeout of %s: all must be above 0, and at most %d datagrams are sent",
			l.Every, l.For, l.Timeout, maxDatagrams)
	}
	connection, err := net.Dial("udp", l.To)
	if err != nil {
		return nil, err
	}
	defer connection.Close()

	sending, end := context.WithTimeout(ctx, l.For)
	defer end()
	fresh, kept := make(chan requests, 1), make(chan requests, 1)
	go func() { fresh <- l.request(ctx, sending, &http.Transport{DisableKeepAlives: true}) }()
	var connections atomic.Int32
	keeping := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	defer keeping.CloseIdleConnections()
	go func() { kept <- l.request(ctx, sending, keeping) }()
	answers := make(chan map[uint64]time.Time, 1)
	go func() { answers <- receive(connection) }()

	sent := l.datagrams(sending, connection)
	report := &Report{}
	onFresh, onKept := <-fresh, <-kept
	report.HTTP, report.Kept = onFresh.Count, Kept{Count: onKept.Count, Connections: int(connections.Load())}
	report.Errors = append(onFresh.errors, onKept.errors...)
	// The read returns when this passes.
	_ = connection.SetReadDeadline(time.Now().Add(l.Timeout))
	report.count(sent, <-answers)
	return report, nil
}

// datagrams sends numbers, the first one 0, and returns when each was sent.
func (l Load) datagrams(ctx context.Context, connection net.Conn) []time.Time {
	ticker := time.NewTicker(l.Every)
	defer ticker.Stop()
	var sent []time.Time
	for {
		select {
		case <-ctx.Done():
			return sent
		case <-ticker.C:
			sent = append(sent, time.Now())
			// An error is that nobody listens, which an earlier datagram met.
			_, _ = connection.Write(binary.BigEndian.AppendUint64(nil, uint64(len(sent)-1)))
		}
	}
}

// receive returns when which number was answered, once the connection's deadline has passed.
func receive(connection net.Conn) map[uint64]time.Time {
	answered := map[uint64]time.Time{}
	buffer := make([]byte, largest)
	for {
		size, err := connection.Read(buffer)
		var network net.Error
		if errors.Is(err, net.ErrClosed) || errors.As(err, &network) && network.Timeout() {
			return answered
		}
		if err != nil || size != 8 {
			continue
		}
		number := binary.BigEndian.Uint64(buffer)
		if _, twice := answered[number]; !twice {
			answered[number] = time.Now()
		}
	}
}

func (r *Report) count(sent []time.Time, answered map[uint64]time.Time) {
	r.UDP.Sent = len(sent)
	var gap *Gap
	for number, at := range sent {
		if when, found := answered[uint64(number)]; found {
			r.UDP.slowest(when.Sub(at))
			gap = nil
			continue
		}
		r.UDP.Lost++
		if gap == nil && len(r.Gaps) < maxGaps {
			r.Gaps = append(r.Gaps, Gap{From: at})
			gap = &r.Gaps[len(r.Gaps)-1]
		}
		if gap != nil {
			gap.Lost++
			gap.Milliseconds = milliseconds(at.Sub(gap.From))
		}
	}
}

func (c *Count) slowest(took time.Duration) { c.Slowest = max(c.Slowest, milliseconds(took)) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// requests are HTTP requests that were sent.
type requests struct {
	Count
	errors []string
}

// request sends requests, one after the other, until sending ends. The last one may take
// longer, unless ctx ends.
func (l Load) request(ctx, sending context.Context, by http.RoundTripper) requests {
	var done requests
	for sending.Err() == nil {
		started := time.Now()
		err := get(ctx, by, "http://"+l.To+"/", l.Timeout, io.Discard)
		if ctx.Err() != nil {
			return done
		}
		if done.Sent++; err == nil {
			done.slowest(time.Since(started))
		} else if done.Lost++; len(done.errors) < maxErrors {
			done.errors = append(done.errors, err.Error())
		}
		select {
		case <-sending.Done():
		case <-time.After(l.HTTPEvery):
		}
	}
	return done
}
