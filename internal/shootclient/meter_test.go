// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"
)

// frames is a server whose connections a test plays, frame by frame of HTTP/2.
type frames struct {
	net.Listener
	kubeconfig []byte
	mu         sync.Mutex
	open       []net.Conn
}

func newFrames(t *testing.T, play func(net.Conn)) *frames {
	t.Helper()
	real := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer real.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: real.TLS.Certificates, NextProtos: []string{"h2"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: real.Certificate().Raw})
	f := &frames{Listener: listener, kubeconfig: kubeconfigOf(fmt.Sprintf(`"server":"https://%s","certificate-authority-data":%q`, listener.Addr(), base64.StdEncoding.EncodeToString(ca)))}
	go f.serve(play)
	t.Cleanup(f.end)
	return f
}

func (f *frames) serve(play func(net.Conn)) {
	for {
		c, err := f.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.open = append(f.open, c)
		f.mu.Unlock()
		go func() {
			defer func() { _ = c.Close() }()
			if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err == nil {
				play(c)
			}
		}()
	}
}

// end closes all connections.
func (f *frames) end() {
	_ = f.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.open {
		_ = c.Close()
	}
}

// A server of HTTP/2 that ends each connection makes its client connect again at once.
func TestAServerThatEndsItsConnectionsIsNotConnectedToInALoop(t *testing.T) {
	var accepted atomic.Int32
	server := newFrames(t, func(c net.Conn) {
		accepted.Add(1)
		_, _ = c.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")) // SETTINGS, GOAWAY
		_, _ = io.Copy(io.Discard, c)
	})
	g := NewWithT(t)
	secret := &onlySecret{kubeconfig: server.kubeconfig}
	clients := New(Options{Metadata: secret, Secrets: secret})
	defer clients.Close()
	began := time.Now()
	_, err := clients.For(t.Context(), "shoot--tenant")
	g.Expect(err).To(MatchError(HaveSuffix("it has not answered in time")))
	server.end()
	g.Expect(accepted.Load()).To(And(BeNumerically(">", 1), BeNumerically("<=", dialsBurst+time.Since(began).Seconds()*dialsRate+1)))
}

// Frames of HTTP/2 that belong to no answer take time, too. Another kubeconfig does not
// start the limit again.
func TestASenderWaitsWhateverItSends(t *testing.T) {
	sent, answered := make(chan int, 1), make(chan int64, 1)
	server := newFrames(t, func(c net.Conn) {
		_, _ = c.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		go func() {
			n, _ := io.Copy(io.Discard, c)
			answered <- n
		}()
		pings, all := make([]byte, 0, 17<<10), 0
		for range 1 << 10 {
			pings = append(pings, "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"...)
		}
		for {
			n, err := c.Write(pings)
			if all += n; err != nil {
				sent <- all
				return
			}
		}
	})
	g := NewWithT(t)
	secret := &onlySecret{kubeconfig: server.kubeconfig}
	clients := New(Options{Metadata: secret, Secrets: secret})
	defer clients.Close()
	s, err := clients.lockedSlot("shoot--tenant", secretVersion{})
	g.Expect(err).NotTo(HaveOccurred())
	s.wire.bytes = rate.NewLimiter(100<<10, 1<<20)
	s.mu.Unlock()
	_, err = clients.For(t.Context(), "shoot--tenant")
	g.Expect(err).To(MatchError(HaveSuffix("it has not answered in time")))
	server.end()
	const buffers = 8 << 20 // of the kernel, on both sides
	g.Expect(<-sent).To(And(BeNumerically(">", 1<<20), BeNumerically("<", 1<<20+4*100<<10+buffers)))
	const record = 1 << 10 // pings that one record of TLS has at most
	g.Expect(<-answered).To(BeNumerically("<", 17*((1<<20+4*100<<10)/writeWork+2*record)), "an answer to a ping costs more than the ping")
}

// A connection that waits can be closed.
func TestAWaitEndsWithTheConnection(t *testing.T) {
	g := NewWithT(t)
	near, far := net.Pipe()
	m := &meter{rate.NewLimiter(1, 1<<10), rate.NewLimiter(1, 1)}
	c, err := m.around(func(context.Context, string, string) (net.Conn, error) { return near, nil }, time.Second)(t.Context(), "tcp", "")
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		_, _ = far.Write(make([]byte, 1<<10))
		_, _ = far.Write(make([]byte, 1<<9))
	}()
	read := make(chan error)
	go func() {
		_, err := io.ReadFull(c, make([]byte, 3<<9))
		read <- err
	}()
	g.Consistently(read, "50ms").ShouldNot(Receive())
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(read).Should(Receive())
}
