// SPDX-License-Identifier: Apache-2.0

package loglimit_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/loglimit"
	"github.com/trellis-network/trellis/test/harness"
)

// A server that answers a request, and then sends more, gets into the log of net/http.
func TestWhatAServerSendsUnaskedIsNotLogged(t *testing.T) {
	g, lines := NewWithT(t), harness.Lines{}
	flags, before := log.Flags(), log.Writer()
	t.Cleanup(func() {
		log.SetFlags(flags)
		log.SetOutput(before)
	})
	log.SetFlags(0)
	log.SetOutput(loglimit.Standard(lines.Logger()))
	sent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		<-sent
		_, _ = fmt.Fprint(c, "password")
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	close(sent)
	const message = "Go's standard library reports"
	g.Eventually(func() []string { return lines.With(message) }).WithTimeout(time.Minute).Should(ConsistOf(And(
		ContainSubstring(`"line"="Unsolicited response received on idle HTTP channel"`), Not(ContainSubstring("password")))))

	for range 100 {
		log.Print(strings.Repeat("again ", 10))
	}
	g.Expect(len(lines.With(message))).To(BeNumerically("<=", 10))
}
