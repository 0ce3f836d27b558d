// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

const (
	// webPort is where pods serve HTTP.
	webPort = 8081
	// answered is how long a request may take. A packet that is lost delays it by a second or two.
	answered = 10 * time.Second
)

// page is what servers answer: some dozen packets.
var page = bytes.Repeat([]byte("packets!"), 8<<10)

// serve serves HTTP at an address of a network, until the test ends.
func serve(t *testing.T, in network, address netip.Addr) {
	t.Helper()
	var listener net.Listener
	if err := in.within(func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(address, webPort).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: answered, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(page)
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

// requests are HTTP requests, one after the other on fresh connections, with fifty milliseconds
// between them.
type requests struct {
	client         *http.Client
	url            string
	stop, finished chan struct{}
	// What follows is valid when finished is closed.
	sent    int
	slowest time.Duration
	errs    []error
}

// startRequests starts to send requests to a server, which must answer by then.
func startRequests(from network, address netip.Addr) *requests {
	r := &requests{
		url:  "http://" + net.JoinHostPort(address.String(), strconv.Itoa(webPort)) + "/",
		stop: make(chan struct{}), finished: make(chan struct{}),
	}
	r.client = &http.Client{Timeout: answered, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, protocol, address string) (connection net.Conn, err error) {
			err = from.within(func() error {
				connection, err = (&net.Dialer{}).DialContext(ctx, protocol, address)
				return err
			})
			return connection, err
		},
	}}
	go r.send()
	return r
}

func (r *requests) send() {
	defer close(r.finished)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		began := time.Now()
		if err := r.get(); err != nil {
			r.errs = append(r.errs, err)
		}
		r.sent++
		r.slowest = max(r.slowest, time.Since(began))
	}
}

func (r *requests) get() error {
	response, err := r.client.Get(r.url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Equal(content, page) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// end ends the requests, and returns how many were sent, how long the slowest took, and why others
// failed.
func (r *requests) end() (sent int, slowest time.Duration, errs []error) {
	close(r.stop)
	<-r.finished
	return r.sent, r.slowest, r.errs
}
