// SPDX-License-Identifier: Apache-2.0

// Package registries connects real nodes with the registries from which they pull images. The
// name of a registry comes from a pod, which anyone may have written who can write to the
// shoot. So it leads to public addresses only, and not to what listens on the machine or in
// the networks around it, unless the user of the sandbox has named the registry.
package registries

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"

	"golang.org/x/net/http/httpproxy"

	"github.com/trellis-network/trellis/sandbox/internal/realnodes/plan"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/relay"
)

// httpsPort is the port of registries that the user does not name.
const httpsPort = "443"

// Dialer connects to registries.
type Dialer struct {
	// named are the registries that the user names.
	named []plan.Registry
	// proxyFor returns the proxy by which the machine reaches a URL, or nil.
	proxyFor func(*url.URL) (*url.URL, error)
	// resolve returns the addresses of a host.
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// New returns a Dialer that reaches registries as the machine does: by the proxy that
// HTTPS_PROXY names, but for those in NO_PROXY. These are variables of this process.
func New(named []plan.Registry) *Dialer {
	return &Dialer{named: named, proxyFor: httpproxy.FromEnvironment().ProxyFunc(), resolve: resolve}
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Dial connects to host:port. It implements relay.Dial.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	index := slices.IndexFunc(d.named, func(r plan.Registry) bool { return r.Name == address })
	named := index >= 0
	if named && d.named[index].Address != "" {
		return relay.Direct(ctx, d.named[index].Address)
	}
	if !named && port != httpsPort {
		return nil, fmt.Errorf("registries are reached at port %s only; to reach %s, start the sandbox with --registry %s", httpsPort, address, address)
	}
	proxy, err := d.proxyFor(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, fmt.Errorf("the machine's proxy: %w", err)
	}
	dial := public
	switch {
	case proxy != nil && named:
		dial = relay.ThroughProxy(proxy)
	case proxy != nil:
		dial = d.publicBy(proxy)
	case named:
		dial = relay.Direct
	}
	conn, err := dial(ctx, address)
	if errors.As(err, new(*notPublic)) {
		return nil, fmt.Errorf("%s: %w; if it is a registry, start the sandbox with --registry %s", host, err, address)
	}
	return conn, err
}

// publicBy returns a Dial to public addresses by a proxy. The proxy looks the name up again,
// and if this machine cannot, only the proxy knows where it leads.
func (d *Dialer) publicBy(proxy *url.URL) relay.Dial {
	return func(ctx context.Context, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addresses, err := d.resolve(ctx, host)
		if err != nil {
			addresses = nil
		}
		for _, each := range addresses {
			if err := checkPublic(each); err != nil {
				return nil, err
			}
		}
		return relay.ThroughProxy(proxy)(ctx, address)
	}
}

// public connects to public addresses only. It checks the address that the connection is made
// to, so that a name that changes its address gains nothing.
func public(ctx context.Context, address string) (net.Conn, error) {
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return checkPublic(target.Addr())
	}}
	return dialer.DialContext(ctx, "tcp", address)
}
