// SPDX-License-Identifier: Apache-2.0

// Package relay passes connections from one network namespace to another. A process listens
// on a Unix socket, which processes of every namespace can reach, and connects to what its
// own namespace reaches, as HTTP CONNECT asks for (RFC 9110, section 9.3.6).
package relay

import (
	"bufio"
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/trellis-network/trellis/sandbox/internal/unixsocket"
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
	return by(func(ctx context.Context) (net.Conn, error) {
		return unixsocket.Dial(ctx, socket)
	}, "")
}

// ThroughProxy returns a Dial that asks an HTTP proxy to connect. Its URL has the scheme http
// or https, and may have a user with a password.
func ThroughProxy(proxy *url.URL) Dial {
	port := proxy.Port()
	authorization := ""
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		authorization = basic(user.Username(), password)
	}
	return by(func(ctx context.Context) (net.Conn, error) {
		switch proxy.Scheme {
		case "http":
			return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), cmp.Or(port, "80")))
		case "https":
			return (&tls.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), cmp.Or(port, "443")))
		}
		return nil, fmt.Errorf("the machine's proxy %s is neither http nor https", proxy.Redacted())
	}, authorization)
}

// by returns a Dial that asks the proxy that open connects to.
func by(open func(context.Context) (net.Conn, error), authorization string) Dial {
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := open(ctx)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		reader, err := connect(conn, address, authorization)
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

// basic is the value of Proxy-Authorization of a user.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func connect(conn net.Conn, address, authorization string) (*bufio.Reader, error) {
	request := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", address, address)
	if authorization != "" {
		request += "Proxy-Authorization: " + authorization + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
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

// Serve answers CONNECT on a listener until the listener is closed.
func Serve(listener net.Listener, dial Dial) error {
	return serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, dial) }))
}

// ServeUser is Serve for one user, who has a password. It answers all others 407 (RFC 9110,
// section 11.7).
func ServeUser(listener net.Listener, user, password string, dial Dial) error {
	want := []byte(basic(user, password))
	return serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), want) == 0 {
			w.Header().Set("Proxy-Authenticate", `Basic realm="registries"`)
			http.Error(w, "this proxy is for the nodes' containerd only", http.StatusProxyAuthRequired)
			return
		}
		answer(w, r, dial)
	}))
}

func serve(listener net.Listener, handler http.Handler) error {
	return (&http.Server{ReadHeaderTimeout: dialTimeout, IdleTimeout: dialTimeout, Handler: handler}).Serve(listener)
}

// answer connects the sender of a CONNECT with what it asks for, until both have ended.
func answer(w http.ResponseWriter, r *http.Request, dial Dial) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this proxy answers CONNECT only", http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	target, err := dial(ctx, r.Host)
	if err != nil {
		refuse(w, err)
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
}

// maxReason bounds the reason in a status line, in bytes.
const maxReason = 1 << 10

// refuse answers that there is no connection, with the reason in the status line: it is all that
// the clients of the standard library, such as containerd, tell of the answer to a CONNECT.
func refuse(w http.ResponseWriter, reason error) {
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, reason.Error())
	_, _ = fmt.Fprintf(client, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", http.StatusBadGateway, text[:min(len(text), maxReason)])
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
