// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"github.com/trellis-network/trellis/internal/jsoncost"
)

func TestAnEventThatIsTooLargeEndsTheWatch(t *testing.T) {
	g := NewWithT(t)
	read := func(stream []byte) (int64, error) {
		return io.Copy(io.Discard, &eventReader{ReadCloser: io.NopCloser(bytes.NewReader(stream)), ctx: t.Context(), rate: rate.NewLimiter(rate.Inf, 1)})
	}
	small := fmt.Appendf(nil, "{%q}", strings.Repeat("x", maxEvent-4))
	n, err := read(bytes.Repeat(small, 4))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(BeEquivalentTo(4 * maxEvent))
	_, err = read(bytes.Repeat([]byte("x"), 2*maxEvent))
	g.Expect(err).To(MatchError(HavePrefix("an event of a watch has more than 4 MiB")))
	_, err = read(append([]byte("["), bytes.Repeat([]byte("{},"), jsoncost.MaxObjects+1)...))
	g.Expect(err).To(MatchError(ContainSubstring("100000 nested objects")))
	_, err = read([]byte(`{"type":"ADDED","object":{"status":{"capacity":{"cpu":"1e-1000000000"}}}}`))
	g.Expect(err).To(MatchError(jsoncost.ErrNumber))
	_, err = read(bytes.Repeat([]byte("{}\n"), 2*jsoncost.MaxObjects))
	g.Expect(err).NotTo(HaveOccurred())
}

// The decoder of a watch needs no line breaks between events, and texts may have braces.
func TestEachObjectOfAWatchIsAnEvent(t *testing.T) {
	for stream, events := range map[string]int{
		"{}{}{}": 3, "{}\n{}\n": 2, `{"a":[{},{}]}`: 1, `{"a":"}{\"}{"}{}`: 2, `{"a":"\\"}{}`: 2, `{"a":{}`: 0,
	} {
		g, rate := NewWithT(t), rate.NewLimiter(rate.Every(time.Hour), watchBurst)
		// In readers of one byte, each byte of an event is in another part.
		for _, reader := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			before := rate.Tokens()
			_, err := io.Copy(io.Discard, &eventReader{ReadCloser: io.NopCloser(reader), ctx: t.Context(), rate: rate})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(before-rate.Tokens()).To(BeNumerically("~", len(stream)+events*eventWork, 1), stream)
		}
	}
}

// A watch that floods is read no faster than is allowed, and the sender waits.
func TestAWatchThatFloodsIsReadSlowly(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	line := fmt.Appendf(nil, "{%q}\n", strings.Repeat("x", 995))
	sent := &flood{line: line}
	limited := &eventReader{ReadCloser: io.NopCloser(sent), ctx: ctx, rate: rate.NewLimiter(1, 1<<20)}
	done := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, limited)
		done <- err
	}()
	g.Consistently(done, "1s").ShouldNot(Receive())
	cancel()
	g.Expect(<-done).To(MatchError(context.Canceled))
	g.Expect(sent.bytes).To(BeNumerically("<=", 1<<20+64<<10))
}

// All watches of a shoot share one rate.
func TestTheWatchesOfAShootShareARate(t *testing.T) {
	h := newHostile(t, nil)
	limited := h.shoot().connection.state.next.(*limits)
	line := fmt.Appendf(nil, "{%q}\n", strings.Repeat("x", 995))
	read := func() int64 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/configmaps?watch=true", nil)
		response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(&flood{line: line})}
		h.Expect(limited.admit(request, response)).To(Succeed())
		n, _ := io.CopyN(io.Discard, response.Body, watchBurst)
		return n
	}
	began := time.Now()
	read1, read2 := read(), read()
	h.Expect(read1).To(BeNumerically(">", 0))
	work := (read1 + read2) * int64(len(line)+eventWork) / int64(len(line))
	h.Expect(work).To(BeNumerically("<=", watchBurst+(1+time.Since(began).Seconds())*watchRate))
}

// flood is a stream of lines. It ends only after more than any limit.
type flood struct {
	line  []byte
	bytes int
}

// Read implements io.Reader.
func (f *flood) Read(p []byte) (int, error) {
	n := 0
	if f.bytes > 256<<20 {
		return 0, io.EOF
	}
	for n+len(f.line) <= len(p) {
		n += copy(p[n:], f.line)
	}
	f.bytes += n
	return n, nil
}
