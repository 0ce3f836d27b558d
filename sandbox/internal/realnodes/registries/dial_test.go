// SPDX-License-Identifier: Apache-2.0

package registries

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
)

// server answers all with a text, and returns its address.
func server(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// aProxy refuses each CONNECT, and remembers for what it was asked, and by whom.
type aProxy struct {
	*url.URL
	mu    sync.Mutex
	asked []string
}

func newProxy(t *testing.T) *aProxy {
	t.Helper()
	p := &aProxy{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, r.Host+" "+r.Header.Get("Proxy-Authorization"))
		http.Error(w, "", http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	p.URL = &url.URL{Scheme: "http", User: url.UserPassword("me", "mine"), Host: s.Listener.Addr().String()}
	return p
}

func (p *aProxy) forAll(*url.URL) (*url.URL, error) { return p.URL, nil }

func none(*url.URL) (*url.URL, error) { return nil, nil }

// knows returns a resolver that knows one host.
func knows(host, address string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, asked string) ([]netip.Addr, error) {
		if literal, err := netip.ParseAddr(asked); err == nil {
			return []netip.Addr{literal}, nil
		}
		if asked != host {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
}

// What a pod could name in place of a registry: what listens on the machine, and what only
// the machine reaches.
func TestOnlyPublicRegistriesAreReached(t *testing.T) {
	d := &Dialer{proxyFor: none, resolve: knows("", "")}
	for address, want := range map[string]string{
		server(t, ""):              "at port 443 only",
		"registry.example:22":      "--registry registry.example:22",
		"127.0.0.1:443":            "the machine itself",
		"[::1]:443":                "the machine itself",
		"[::ffff:127.0.0.1]:443":   "the machine itself",
		"localhost:443":            "the machine itself",
		"0.0.0.0:443":              "the machine itself",
		"10.1.2.3:443":             "no public address",
		"172.16.0.1:443":           "no public address",
		"192.168.0.1:443":          "no public address",
		"100.64.0.1:443":           "no public address",
		"169.254.169.254:443":      "no public address", // metadata of clouds
		"[fe80::1%lo]:443":         "no public address",
		"[fd00::1]:443":            "no public address",
		"[64:ff9b::7f00:1]:443":    "no public address",
		"255.255.255.255:443":      "no public address",
		"registry.example":         "missing port",
		"[::ffff:169.254.0.1]:443": "no public address",
		"[2002:7f00:1::]:443":      "no public address",
	} {
		conn, err := d.Dial(t.Context(), address)
		if err == nil {
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
}

func TestTheMachineIsNotReachedAtAnyOfItsAddresses(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil || len(addresses) == 0 {
		t.Fatalf("%v %v", addresses, err)
	}
	for _, each := range addresses {
		address := netip.MustParsePrefix(each.String()).Addr()
		if err := checkPublic(address); err == nil {
			t.Errorf("%s is taken for public", address)
		}
	}
}

func TestARegistryThatTheUserNamesIsReachedWhereverItIs(t *testing.T) {
	there := server(t, "the registry")
	_, port, _ := net.SplitHostPort(there)
	d := &Dialer{proxyFor: none, resolve: knows("", ""), named: []plan.Registry{
		{Name: "localhost:" + port},
		{Name: "registry.example:443", Address: there},
	}}
	for address, want := range map[string]bool{
		"localhost:" + port:    true,
		"registry.example:443": true,
		there:                  false, // it was not named by its address
	} {
		conn, err := d.Dial(t.Context(), address)
		if got := err == nil; got != want {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// Where the machine needs a proxy, often only that knows addresses.
func TestTheProxyOfTheMachineIsUsed(t *testing.T) {
	proxy := newProxy(t)
	named := []plan.Registry{{Name: "inside.example:5000"}, {Name: "here.example:443", Address: server(t, "")}}
	d := &Dialer{proxyFor: proxy.forAll, resolve: knows("inside.example", "10.0.0.1"), named: named}
	for address, want := range map[string]string{
		"registry.example:443": "403 Forbidden", // of unknown address
		"192.0.2.1:443":        "403 Forbidden",
		"inside.example:5000":  "403 Forbidden", // since it is named
		"inside.example:443":   "no public address",
		"127.0.0.1:443":        "the machine itself",
		"registry.example:80":  "at port 443 only",
		"here.example:443":     "", // the user says where it is
	} {
		proxy.asked = nil
		conn, err := d.Dial(t.Context(), address)
		if err == nil {
			conn.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
		const authorization = "Basic bWU6bWluZQ==" // me:mine
		if asked := strings.Join(proxy.asked, ","); (want == "403 Forbidden") != (asked == address+" "+authorization) {
			t.Errorf("%s: the proxy was asked for %q", address, asked)
		}
	}
}

func TestNoProxyOfTheMachineIsHeeded(t *testing.T) {
	proxy := newProxy(t)
	t.Setenv("HTTPS_PROXY", proxy.String())
	t.Setenv("NO_PROXY", "inside.example")
	d := New(nil)
	for host, want := range map[string]bool{"registry.example": true, "inside.example": false, "127.0.0.1": false} {
		by, err := d.proxyFor(&url.URL{Scheme: "https", Host: host + ":443"})
		if err != nil || (by != nil) != want {
			t.Errorf("%s: by %v (%v)", host, by, err)
		}
	}
}
