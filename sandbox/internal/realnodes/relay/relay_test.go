// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// echo listens, answers each connection with what it got once the sender has ended, and
// returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				content, _ := io.ReadAll(conn)
				_, _ = conn.Write(content)
			}()
		}
	}()
	return listener.Addr().String()
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// proxy serves CONNECT on a Unix socket and returns the socket's path.
func proxy(t *testing.T, dial Dial) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener := listen(t, "unix", socket)
	go func() { _ = Serve(listener, dial) }()
	return socket
}

// exchange sends a text and the end, and returns the answer up to its end.
func exchange(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if err := closeWrite(conn); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestAConnectionPassesThroughASocket(t *testing.T) {
	conn, err := Through(proxy(t, Direct))(t.Context(), echo(t))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("more than one buffer\n", 10_000)
	if got := exchange(t, conn, text); got != text {
		t.Errorf("%d of %d bytes came back", len(got), len(text))
	}
}

func TestAPortIsForwarded(t *testing.T) {
	port := listen(t, "tcp", "127.0.0.1:0")
	go func() { _ = Forward(port, Through(proxy(t, Direct)), echo(t)) }()
	conn, err := Direct(t.Context(), port.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, conn, "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestWhyATargetIsNotReachedIsTold(t *testing.T) {
	_, err := Through(proxy(t, Only("127.0.0.1:1", "10.0.0.1:443")))(t.Context(), "10.0.0.2:443")
	if err == nil || !strings.Contains(err.Error(), "only [10.0.0.1:443] can be reached, not 10.0.0.2:443") {
		t.Errorf("got %v", err)
	}
}

// containerd tells no more of the answer to its CONNECT.
func TestTheReasonIsInTheStatusLine(t *testing.T) {
	listener := listen(t, "tcp", "127.0.0.1:0")
	go func() {
		_ = Serve(listener, func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("not in this\r\nInjected: header " + strings.Repeat("x", 2*maxReason))
		})
	}()
	by := func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: listener.Addr().String()}, nil
	}
	_, err := (&http.Client{Transport: &http.Transport{Proxy: by}}).Get("https://registry.example/")
	if err == nil || !strings.Contains(err.Error(), "not in this  Injected: header xxx") || len(err.Error()) > 2*maxReason {
		t.Errorf("got %v", err)
	}
}

func TestOneAddressStandsForAnother(t *testing.T) {
	conn, err := Through(proxy(t, Only(echo(t), "10.0.0.1:443")))(t.Context(), "10.0.0.1:443")
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, conn, "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestAProxyThatDoesNotAnswerIsNotAwaitedForEver(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listen(t, "unix", socket)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Through(socket)(ctx, "10.0.0.1:443"); err == nil {
		t.Error("no error")
	}
}

func TestAUserNeedsThePassword(t *testing.T) {
	target := echo(t)
	listener := listen(t, "tcp", "127.0.0.1:0")
	go func() { _ = ServeUser(listener, "containerd", "secret", Direct) }()
	for user, want := range map[*url.Userinfo]string{
		nil:                                      "407",
		url.User("containerd"):                   "407",
		url.UserPassword("containerd", "else"):   "407",
		url.UserPassword("someone", "secret"):    "407",
		url.UserPassword("containerd", "secret"): "",
	} {
		conn, err := ThroughProxy(&url.URL{Scheme: "http", User: user, Host: listener.Addr().String()})(t.Context(), target)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%v: got %v, want %s", user, err, want)
		case want == "" && err != nil:
			t.Errorf("%v: %v", user, err)
		case want == "":
			if got := exchange(t, conn, "hello"); got != "hello" {
				t.Errorf("got %q", got)
			}
		}
	}
}

func TestAProxyOfAnotherKindIsRefused(t *testing.T) {
	_, err := ThroughProxy(&url.URL{Scheme: "socks5", User: url.UserPassword("a", "secret"), Host: "127.0.0.1:1"})(t.Context(), "registry.example:443")
	if err == nil || !strings.Contains(err.Error(), "neither http nor https") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
