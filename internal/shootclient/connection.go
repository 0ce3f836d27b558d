// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/trellis-network/trellis/internal/keyed"
)

// idleTimeout is how long a connection without requests is kept, and so how long
// one may outlast its shoot: those which are in use at its end become idle only
// afterwards.
const idleTimeout = 10 * time.Second

// connection is the way to one API server: its TCP connections, and whether it
// answered last.
type connection struct {
	// config leads to the server, whose name in it is the same for all shoots: it is in the
	// metrics and errors of client-go. cluster has its real address.
	config  *rest.Config
	cluster Cluster
	// proven reports that /version was answered as only an API server does.
	proven atomic.Bool
	// transport is nil if this package did not open the connections.
	transport *http.Transport
	// requests has a time limit for each request, watches has none.
	requests, watches *http.Client
	state             *answers
	// cached is how many bytes of objects and kinds the cache has got, in their present or a
	// former state, and reports what of that is for each report of a probe.
	cached  *atomic.Int64
	reports keyed.Map[string, countedReport]
}

// connect prepares a connection. It sends nothing yet. It does not use
// client-go's shared transports, which are never closed and outlive a rotated
// kubeconfig. wire limits it together with the connections before it.
func connect(kubeconfig []byte, namespace string, wire *meter, options *Options) (*connection, error) {
	config, err := Config(kubeconfig)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, errors.New("the server of the kubeconfig's cluster is not a URL such as https://api.example.com:6443")
	}
	if address, err := netip.ParseAddr(server.Hostname()); err == nil {
		if err := options.checkAddress(address); err != nil {
			return nil, err
		}
	}
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(options.QPS, options.Burst)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig's certificates cannot be used: %w", err)
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	dialer := &net.Dialer{Timeout: options.ConnectTimeout, KeepAlive: 30 * time.Second, Control: options.control}
	transport := utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: options.ConnectTimeout,
		IdleConnTimeout:     idleTimeout,
		DialContext:         wire.around(dialer.DialContext, options.ConnectTimeout),

		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
		ResponseHeaderTimeout:  2 * options.RequestTimeout, // of watches; other requests have their own limit
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerConnection: maxAnswers, MaxReceiveBufferPerStream: maxUnread},
	})
	cached := &atomic.Int64{}
	limited := &limits{
		cached: cached,
		next:   addressed{writeCounter{transport}, server.Host}, prefix: strings.TrimSuffix(server.Path, "/"),
		events: rate.NewLimiter(watchRate, watchBurst),
	}
	state := &answers{next: limited, clock: options.Clock, err: errNotAsked}
	var outer http.RoundTripper = state
	if options.WrapTransport != nil {
		outer = options.WrapTransport(namespace, outer)
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, outer)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig's credentials cannot be used: %w", err)
	}
	cluster := Cluster{server.String(), authoritiesIn(config.CAData)}
	server.Host = "shoot"
	config.Host = server.String()
	return &connection{
		config: config, cluster: cluster, transport: transport, state: state, cached: cached,
		requests: &http.Client{Transport: authenticated, Timeout: options.RequestTimeout},
		watches:  &http.Client{Transport: authenticated},
	}, nil
}

// probe finds out whether the API server answers at all and knows the credentials, and
// whether it answers as an API server does: with its version or, where the credentials lack
// the right to see it, with a Status.
func (c *connection) probe(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	server, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	response, err := c.requests.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusUnauthorized {
		return errUnauthorized
	}
	var answer struct{ GitVersion, Reason string }
	_ = json.NewDecoder(response.Body).Decode(&answer)
	c.proven.Store(answer.GitVersion != "" || response.StatusCode == http.StatusForbidden && answer.Reason != "")
	return nil
}

func (c *connection) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// answers is a transport that remembers whether the last request was answered, and
// whether its sender was known.
type answers struct {
	next  http.RoundTripper
	clock clock.PassiveClock

	mu       sync.Mutex
	err      error
	failed   time.Time
	answered time.Time
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if errors.Is(err, context.Canceled) {
		// The caller went away; that says nothing about the server.
		return response, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		a.err = errUnauthorized
	}
	if a.err != nil {
		a.failed = a.clock.Now()
	} else {
		a.answered = a.clock.Now()
	}
	return response, err
}

// last returns the error of the last request, and when it failed.
func (a *answers) last() (failed time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed, a.err
}

// silent reports whether no request was answered within a time. Events of a watch are no
// answers: a watch without events may have none to deliver.
func (a *answers) silent(within time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.clock.Since(a.answered) >= within
}

// errNotAsked stands for the answer to a request that was never made.
var errNotAsked = errors.New("it has not been asked yet")
