// SPDX-License-Identifier: Apache-2.0

// Package relay passes connections from one network namespace to another. A process listens
// on a Unix socket, which processes of every namespace can reach, and connects to what its
// own namespace reaches, as HTTP CONNECT asks for (RFC 9110, section 9.3.6).
package relay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Dial connects to an address, which is host:port.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// dialTimeout bounds the time until a connection stands.
const dialTimeout = 10 * time.Second

// Direct connects from the namespace of this process.
func Direct(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// Only returns a Dial that connects to target, and only for those who ask for one of the
// addresses.
func Only(target string, addresses ...string) Dial {
	return func(ctx context.Context, address string) (net.Conn, error) {
		for _, allowed := range addresses {
			if address == allowed {
				return Direct(ctx, target)
			}
		}
		return nil, fmt.Errorf("only %v can be reached, not %s", addresses, address)
	}
}

// Through returns a Dial that asks the process that listens on a Unix socket to connect.
func Through(socket string) Dial {
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		reader, err := connect(conn, address)
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connect to %s: %w", address, err)
		}
		return &buffered{Conn: conn, reader: reader}, nil
	}
}

func connect(conn net.Conn, address string) (*bufio.Reader, error) {
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s", response.Status, reason)
	}
	return reader, nil
}

// buffered is a connection of which some bytes have been read already.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (b *buffered) Read(to []byte) (int, error) { return b.reader.Read(to) }

// CloseWrite ends what this side sends.
func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }

// Listen listens on a Unix socket. It replaces the socket that a former process has left.
func Listen(socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

// Serve answers CONNECT on a listener until the listener is closed.
func Serve(listener net.Listener, dial Dial) error {
	server := &http.Server{ReadHeaderTimeout: dialTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "this proxy answers CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
		defer cancel()
		target, err := dial(ctx, r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer target.Close()
		client, pending, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return
		}
		join(&buffered{Conn: client, reader: pending.Reader}, target)
	})}
	return server.Serve(listener)
}

// Forward connects each connection of a listener to an address, until the listener is
// closed.
func Forward(listener net.Listener, dial Dial, address string) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
			defer cancel()
			target, err := dial(ctx, address)
			if err != nil {
				return // the client sees that the connection ends
			}
			defer target.Close()
			join(client, target)
		}()
	}
}

// join copies both directions, until both have ended.
func join(one, other net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { pass(one, other) })
	both.Go(func() { pass(other, one) })
	both.Wait()
}

func pass(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		// The other direction could wait forever for a peer that is gone.
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = closeWrite(to)
}

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}
