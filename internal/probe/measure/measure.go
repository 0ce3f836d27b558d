// SPDX-License-Identifier: Apache-2.0

// Package measure makes the attempts of a probe to reach its targets. All of them are bounded in
// time and in the bytes that they read, and send the same bytes to all.
package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe"
	"github.com/trellis-network/trellis/internal/probe/respond"
)

const (
	// connectTimeout is that of a TCP connection. Linux repeats a lost first packet after one second.
	connectTimeout = 3 * time.Second
	// answerTimeout is that of a small exchange: a lost packet is repeated within it.
	answerTimeout = 3 * time.Second
	// fullTimeout is that of an exchange of full segments. Where the path has become narrower and
	// says so, TCP adapts within it.
	fullTimeout = 5 * time.Second
	// fullSegments is the length of such a body, in MTUs of the interface: one segment at least is
	// full.
	fullSegments = 2
	// serviceTries is the number of connections of an attempt to reach a Service. An endpoint on a
	// node that has just failed stays an endpoint for 40 seconds.
	serviceTries = 3
	// dnsTries is how often a DNS server is asked in an attempt, each time for dnsTimeout: datagrams
	// get lost, and nothing repeats them.
	dnsTries   = 3
	dnsTimeout = time.Second
	// datagramTries is how often a datagram of full size is sent, and datagramTimeout how long
	// each waits for its echo. One is lost where the path's MTU has just been learned.
	datagramTries   = 3
	datagramTimeout = 500 * time.Millisecond
	// maxIdentity is the length of a peer's answer.
	maxIdentity = 4 << 10
	maxHeader   = 4 << 10
)

// Measure makes attempts.
type Measure struct {
	// Dial connects; nil means a net.Dialer. A probe has DialOthers.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MTU of the pod's interface. 0 means unknown: then packets of full size are not tested.
	MTU int
}

// Attempt tries to reach a target once. full also exchanges full segments, where the target is a peer.
func (m *Measure) Attempt(ctx context.Context, target probe.Target, full bool) probe.Outcome {
	outcome := probe.Outcome{Started: time.Now()}
	var failure error
	switch target.Type {
	case v1alpha1.CheckPods:
		failure = m.peer(ctx, target, full, &outcome)
	case v1alpha1.CheckNodes:
		failure = m.connects(ctx, target, true, &outcome)
	case v1alpha1.CheckServices:
		for range serviceTries {
			if failure = m.service(ctx, target, &outcome); failure == nil {
				break
			}
		}
	case v1alpha1.CheckDNS:
		failure = m.resolves(ctx, target, &outcome)
	case v1alpha1.CheckOutside:
		failure = m.connects(ctx, target, false, &outcome)
	}
	outcome.Ended = time.Now()
	if failure != nil {
		outcome.Failure = failure.Error()
	}
	return outcome
}

// peer exchanges a small message with the probe of the target's node and, if full, bodies of
// several segments, and a datagram of the interface's MTU.
func (m *Measure) peer(ctx context.Context, target probe.Target, full bool, outcome *probe.Outcome) error {
	conn, err := m.dial(ctx, target)
	if err != nil {
		return err
	}
	client, done := over(conn)
	defer done()
	identity, err := greet(ctx, client, target.Address)
	switch {
	case err != nil:
		return err
	case identity.Node != target.Name:
		return errors.New("the probe of another node answers at this address")
	}
	outcome.Latency, outcome.NodeAddresses = time.Since(outcome.Started), identity.Addresses
	if !full {
		return nil
	}
	if err := m.exchangeFull(ctx, client, target.Address); err != nil {
		return err
	}
	outcome.FullSizePackets = m.fullSize(ctx, target)
	return nil
}

func (m *Measure) service(ctx context.Context, target probe.Target, outcome *probe.Outcome) error {
	started := time.Now()
	conn, err := m.dial(ctx, target)
	if err != nil {
		return err
	}
	client, done := over(conn)
	defer done()
	_, err = greet(ctx, client, target.Address)
	outcome.Latency = time.Since(started)
	return err
}

// connects opens a connection. refusable says that a refusal is an answer too.
func (m *Measure) connects(ctx context.Context, target probe.Target, refusable bool, outcome *probe.Outcome) error {
	conn, err := m.dial(ctx, target)
	if conn != nil {
		defer conn.Close()
	}
	outcome.Latency = time.Since(outcome.Started)
	if refusable && errors.Is(err, errRefused) {
		return nil
	}
	return err
}

func (m *Measure) resolves(ctx context.Context, target probe.Target, outcome *probe.Outcome) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return m.dialer()(ctx, network, target.Address)
	}}
	var failure error
	for range dnsTries {
		started := time.Now()
		if failure = resolve(ctx, resolver, target.Name); failure == nil {
			outcome.Latency = time.Since(started)
			return nil
		}
	}
	return failure
}

func resolve(ctx context.Context, resolver *net.Resolver, name string) error {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	_, err := resolver.LookupNetIP(ctx, "ip", name)
	var failed *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.IsNotFound:
		return errors.New("the DNS server does not know the name")
	case ctx.Err() != nil, errors.As(err, &failed) && failed.IsTimeout:
		return fmt.Errorf("no answer of the DNS server, asked %d times for %s", dnsTries, dnsTimeout)
	}
	return errors.New("the DNS server fails")
}

var errRefused = errors.New("the connection is refused")

func (m *Measure) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if m.Dial != nil {
		return m.Dial
	}
	return (&net.Dialer{}).DialContext
}

// DialOthers connects like a net.Dialer, but only where probe.MayConnect lets a probe connect,
// whatever address a name is resolved to.
func DialOthers(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !probe.MayConnect(to) {
			return errForbidden
		}
		return nil
	}}).DialContext(ctx, network, address)
}

var errForbidden = errors.New("a probe does not connect to loopback, link-local or multicast addresses")

// dial opens a TCP connection in the target's family. Errors contain no port of this side, which
// differs each time.
func (m *Measure) dial(ctx context.Context, target probe.Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	network := "tcp4"
	if target.Family == v1alpha1.IPv6 {
		network = "tcp6"
	}
	conn, err := m.dialer()(ctx, network, target.Address)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, errRefused
	// The socket's deadline may pass a moment before that of the context.
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no connection within %s", connectTimeout)
	}
	return nil, fmt.Errorf("no connection: %w", reason(err))
}

// reason returns the innermost error.
func reason(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// over returns an HTTP client whose requests all use one connection, and what closes that.
func over(conn net.Conn) (*http.Client, func()) {
	unused := make(chan net.Conn, 1)
	unused <- conn
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-unused:
				return conn, nil
			default:
				return nil, errors.New("the peer has closed the connection")
			}
		},
		DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client, func() { transport.CloseIdleConnections(); conn.Close() }
}

func greet(ctx context.Context, client *http.Client, address string) (identity respond.Identity, err error) {
	answer, err := exchange(ctx, client, http.MethodGet, address, nil, maxIdentity, answerTimeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return identity, fmt.Errorf("connected, but no answer within %s", answerTimeout)
	case err != nil:
		return identity, err
	case json.Unmarshal(answer, &identity) != nil:
		return identity, errors.New("what answers is no probe")
	}
	return identity, nil
}

// exchangeFull sends a body of several full segments, which must come back.
func (m *Measure) exchangeFull(ctx context.Context, client *http.Client, address string) error {
	const unknown = 1500 // of most networks
	size := m.MTU
	if size == 0 {
		size = unknown
	}
	body := bytes.Repeat([]byte("trellis\n"), 1+min(fullSegments*size, respond.MaxBody-8)/8)
	body = body[:min(len(body), respond.MaxBody)]
	answer, err := exchange(ctx, client, http.MethodPost, address, body, respond.MaxBody, fullTimeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("small packets pass, but full segments do not within %s: check the MTU", fullTimeout)
	case err != nil:
		return err
	case !bytes.Equal(answer, body):
		return errors.New("the peer returns something else than it was sent")
	}
	return nil
}

// exchange sends one request and returns the body of a 200.
func exchange(ctx context.Context, client *http.Client, method, address string, body []byte, most int64, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+respond.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, inTime(ctx, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the answer is HTTP %d", response.StatusCode)
	case int64(len(answer)) > most:
		return nil, errors.New("the answer is too large")
	}
	return answer, nil
}

func inTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the connection breaks off: %w", reason(err))
}

// fullSize reports whether a packet as large as the interface's MTU gets to the target and back,
// without fragments. It returns nil if that cannot be tested.
func (m *Measure) fullSize(ctx context.Context, target probe.Target) *bool {
	address, err := netip.ParseAddrPort(target.Address)
	headers := 20 + 8 // IP, UDP
	if address.Addr().Is6() {
		headers = 40 + 8
	}
	if err != nil || m.MTU <= headers || m.MTU-headers > respond.MaxDatagram {
		return nil
	}
	conn, err := m.dialer()(ctx, "udp", target.Address)
	if err != nil {
		return nil
	}
	defer conn.Close()
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil || ForbidFragments(raw) != nil {
		return nil
	}
	question := bytes.Repeat([]byte{respond.Question}, m.MTU-headers)
	passes := false
	for try := 0; try < datagramTries && !passes && ctx.Err() == nil; try++ {
		passes = echoes(conn, question)
	}
	return &passes
}

func echoes(conn net.Conn, question []byte) bool {
	if conn.SetDeadline(time.Now().Add(datagramTimeout)) != nil {
		return false
	}
	if _, err := conn.Write(question); err != nil {
		return false
	}
	answer := make([]byte, len(question)+1)
	n, err := conn.Read(answer)
	return err == nil && n == len(question) && answer[0] == respond.Answer
}
