// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/trellis-network/trellis/internal/jsoncost"
)

// counting answers each request when it is told to, and counts those that it has.
type counting struct {
	mu        sync.Mutex
	now, most int
	answer    chan struct{}
}

func (c *counting) ServeHTTP(http.ResponseWriter, *http.Request) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	<-c.answer
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
}

func (c *counting) present() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// A cluster can have its API server send as many and as large objects as it likes.
func TestLargeRequestsOfOneSenderWaitForEachOther(t *testing.T) {
	g, next := NewWithT(t), &counting{answer: make(chan struct{})}
	limited := newLimits()
	server := httptest.NewServer(limited.around(next))
	defer server.Close()
	answer := sync.OnceFunc(func() { close(next.answer) })
	defer answer() // Close waits for the answers
	body := strings.Repeat(" ", 6<<20)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if response, err := http.Post(server.URL, "application/json", strings.NewReader(body)); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	g.Eventually(next.present).WithTimeout(time.Minute).Should(Equal(1))
	g.Consistently(next.present, "100ms").Should(Equal(1))
	answer()
	all.Wait()
	g.Expect(next.most).To(Equal(1))
	g.Eventually(limited.senders.Clone).Should(BeEmpty(), "nothing of a sender remains")
}

func TestRequestsThatAreTooLargeAreRefused(t *testing.T) {
	next := &counting{answer: make(chan struct{})}
	close(next.answer)
	server := httptest.NewServer(newLimits().around(next))
	defer server.Close()
	for name, c := range map[string]struct {
		body io.Reader
		code int
	}{
		"small":              {strings.NewReader(`{"a":[]}`), http.StatusOK},
		"larger than 7 MiB":  {strings.NewReader(strings.Repeat(" ", maxRequest+1)), http.StatusRequestEntityTooLarge},
		"of unknown length":  {io.MultiReader(strings.NewReader("{}")), http.StatusRequestEntityTooLarge},
		"with empty objects": {strings.NewReader("[" + strings.Repeat("{},", jsoncost.MaxObjects) + "{}]"), http.StatusRequestEntityTooLarge},
		"with empty values":  {strings.NewReader("[" + strings.Repeat("0,", jsoncost.MaxObjects) + "0]"), http.StatusRequestEntityTooLarge},
		"with deep lists":    {strings.NewReader("[" + strings.Repeat(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+",", 200) + "0]"), http.StatusRequestEntityTooLarge},
		"with a slow number": {strings.NewReader(`{"a":"1e-1000000000"}`), http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := http.Post(server.URL, "application/json", c.body)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
			NewWithT(t).Expect(response.StatusCode).To(Equal(c.code), fmt.Sprint(response.Header))
		})
	}
}
