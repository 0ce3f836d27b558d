// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trellis-network/trellis/sandbox/internal/traffic"
)

// serving starts a server, and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	server, err := traffic.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.Address()
}

// load sends for long enough for a busy machine, and so seldom that the receiver's buffer holds all
// datagrams.
func load(to string) traffic.Load {
	return traffic.Load{To: to, Every: 10 * time.Millisecond, HTTPEvery: 10 * time.Millisecond, For: time.Second, Timeout: 5 * time.Second}
}

func TestNothingIsLostOnAWayThatLosesNothing(t *testing.T) {
	t.Parallel() // the test waits for most of its time, like the next two
	report, err := load(serving(t)).Send(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if kept := report.Kept; kept.Sent < 2 || kept.Lost != 0 || kept.Connections != 1 {
		t.Errorf("requests on one connection: %+v", kept)
	}
	if report.UDP.Sent < 10 || report.HTTP.Sent < 2 || report.UDP.Lost != 0 || report.HTTP.Lost != 0 || len(report.Gaps) != 0 {
		t.Errorf("got %+v", report)
	}
}

// A peer that closes connections stands for a network that breaks them.
func TestBrokenConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	server.SetKeepAlivesEnabled(false)
	go func() { _ = server.Serve(closing) }()
	defer server.Close()
	report, err := load(closing.Addr().String()).Send(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if kept := report.Kept; kept.Sent < 2 || kept.Lost != 0 || kept.Connections != kept.Sent {
		t.Errorf("got %+v", kept)
	}
}

func TestLostDatagramsAreCountedAsGaps(t *testing.T) {
	t.Parallel()
	lossy, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lossy.Close()
	go func() {
		buffer := make([]byte, 100)
		for number := 0; ; number++ {
			size, from, err := lossy.ReadFrom(buffer)
			if err != nil {
				return
			}
			if (number < 5 || number > 7) && number != 9 {
				_, _ = lossy.WriteTo(buffer[:size], from)
			}
		}
	}()
	report, err := load(lossy.LocalAddr().String()).Send(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if report.UDP.Lost != 4 || len(report.Gaps) != 2 || report.Gaps[0].Lost != 3 || report.Gaps[0].Milliseconds <= 0 || report.Gaps[1].Lost != 1 {
		t.Errorf("got %+v", report)
	}
	if report.HTTP.Lost != report.HTTP.Sent || !strings.Contains(report.Errors[0], "refused") {
		t.Errorf("requests to a port without a server: %+v", report)
	}
}

func TestAnswersHaveTheSizeThatIsAskedFor(t *testing.T) {
	address := serving(t)
	for query, want := range map[string]int{"?bytes=100000": 100000, "?bytes=0": 0} {
		var got strings.Builder
		if err := traffic.Get(context.Background(), "http://"+address+"/"+query, time.Minute, &got); err != nil || got.Len() != want {
			t.Errorf("%s: %v, %d bytes", query, err, got.Len())
		}
	}
	if err := traffic.Get(context.Background(), "http://"+address+"/?bytes=-1", time.Minute, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("got %v", err)
	}
}

func TestAnswersNameBothEnds(t *testing.T) {
	address := serving(t)
	var got strings.Builder
	if err := traffic.Get(context.Background(), "http://"+address+"/", time.Minute, &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), " "+address+" from 127.0.0.1:") {
		t.Errorf("got %q", got.String())
	}
}

func TestALoadWithoutEndIsRejected(t *testing.T) {
	endless := load("127.0.0.1:1")
	endless.For, endless.Every = 1000*time.Hour, time.Microsecond
	if _, err := endless.Send(context.Background()); err == nil {
		t.Error("got no error")
	}
}
