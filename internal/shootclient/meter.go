// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What one shoot may send over all its connections, whether it belongs to an answer or not:
// frames of HTTP/2 that belong to none cost time, too, and a server can ask for a further
// connection with each answer. A tenant who changes the kubeconfig gets no more.
const (
	wireRate, wireBurst   = 2 << 20, 64 << 20 // bytes a second and at once
	dialsRate, dialsBurst = 2, 100            // connections a second and at once
	// What a write counts, since a server can have its client answer each of its frames, which takes
	// longer than to read it.
	writeWork = 1 << 10
)

// errDials is the error of a connection that is one too many.
var errDials = errors.New("the API server ends its connections again and again; new ones are made with delay")

// meter limits what the connections to one shoot bring.
type meter struct{ bytes, dials *rate.Limiter }

func newMeter() *meter {
	return &meter{rate.NewLimiter(wireRate, wireBurst), rate.NewLimiter(dialsRate, dialsBurst)}
}

// around returns a dial function that waits before each connection, for timeout at most, and
// whose connections the meter limits.
func (m *meter) around(dial func(ctx context.Context, network, address string) (net.Conn, error), timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		waiting, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if m.dials.Wait(waiting) != nil {
			return nil, errDials
		}
		opened, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &metered{Conn: opened, bytes: m.bytes, closed: make(chan struct{})}, nil
	}
}

// metered is a connection whose sender waits if it sends too fast.
type metered struct {
	net.Conn
	bytes  *rate.Limiter
	once   sync.Once
	closed chan struct{}
}

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p[:min(len(p), wireBurst)])
	if wait := m.bytes.ReserveN(time.Now(), n).Delay(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-m.closed:
		}
	}
	return n, err
}

// Write implements net.Conn. What it counts delays the next Read.
func (m *metered) Write(p []byte) (int, error) {
	m.bytes.ReserveN(time.Now(), writeWork)
	return m.Conn.Write(p)
}

// Close implements net.Conn.
func (m *metered) Close() error {
	m.once.Do(func() { close(m.closed) })
	return m.Conn.Close()
}
