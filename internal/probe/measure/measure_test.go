// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe"
	"github.com/trellis-network/trellis/internal/probe/measure"
	"github.com/trellis-network/trellis/internal/probe/respond"
)

// peer runs the answering half of a probe, and returns its address.
func peer(t *testing.T, node string) string {
	g := NewWithT(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().(*net.TCPAddr)
	datagrams, err := net.ListenUDP("udp4", &net.UDPAddr{IP: address.IP, Port: address.Port})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		ended <- respond.HTTP(ctx, listener, respond.Identity{Node: node, Addresses: []string{"192.168.0.2"}})
	}()
	go func() { ended <- respond.Datagrams(ctx, datagrams) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
		g.Expect(<-ended).To(Succeed())
	})
	return address.String()
}

func target(check v1alpha1.CheckType, name, address string) probe.Target {
	return probe.Target{Family: v1alpha1.IPv4, Type: check, Name: name, Address: address}
}

func TestAPeerThatAnswers(t *testing.T) {
	g := NewWithT(t)
	m := measure.Measure{MTU: 1450}
	address := peer(t, "node-b")
	outcome := m.Attempt(t.Context(), target(v1alpha1.CheckPods, "node-b", address), false)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.Latency).To(And(BeNumerically(">", 0), BeNumerically("<=", outcome.Ended.Sub(outcome.Started))))
	g.Expect(outcome.NodeAddresses).To(Equal([]string{"192.168.0.2"}))
	g.Expect(outcome.FullSizePackets).To(BeNil(), "not tested")
	outcome = m.Attempt(t.Context(), target(v1alpha1.CheckPods, "node-b", address), true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))
	g.Expect(m.Attempt(t.Context(), target(v1alpha1.CheckServices, "trellis-probe", address), false).Failure).To(BeEmpty())
}

func TestTheProbeOfAnotherNodeIsNotThePeer(t *testing.T) {
	g := NewWithT(t)
	outcome := (&measure.Measure{}).Attempt(t.Context(), target(v1alpha1.CheckPods, "node-c", peer(t, "node-b")), false)
	g.Expect(outcome.Failure).To(Equal("the probe of another node answers at this address"))
}

// A node that refuses a connection has answered. A pod that does so has no probe.
func TestARefusalIsAnAnswerOfANodeAlone(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	unused := listener.Addr().String()
	g.Expect(listener.Close()).To(Succeed())
	m := measure.Measure{}
	g.Expect(m.Attempt(t.Context(), target(v1alpha1.CheckNodes, "node-b", unused), false).Failure).To(BeEmpty())
	for _, check := range []v1alpha1.CheckType{v1alpha1.CheckPods, v1alpha1.CheckServices, v1alpha1.CheckOutside} {
		g.Expect(m.Attempt(t.Context(), target(check, "node-b", unused), false).Failure).To(Equal("the connection is refused"))
	}
}

func TestWhatAnswersMustBeAProbeOfBoundedSize(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"another program": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, "what answers is no probe"},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "the answer is HTTP 500"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
			"the answer is HTTP 302"},
		"a long answer": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) }, "the answer is too large"},
		"a long header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100<<10)) }, "the connection breaks off"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			t.Cleanup(server.Close)
			outcome := (&measure.Measure{}).Attempt(t.Context(), target(v1alpha1.CheckPods, "node-b", strings.TrimPrefix(server.URL, "http://")), true)
			NewWithT(t).Expect(outcome.Failure).To(HavePrefix(test.says))
		})
	}
}

// The name of an outside target may be resolved to any address.
func TestANameDoesNotLeadAProbeToItself(t *testing.T) {
	g := NewWithT(t)
	_, port, err := net.SplitHostPort(peer(t, "node-b"))
	g.Expect(err).NotTo(HaveOccurred())
	outside := target(v1alpha1.CheckOutside, "localhost", net.JoinHostPort("localhost", port))
	g.Expect((&measure.Measure{}).Attempt(t.Context(), outside, false).Failure).To(BeEmpty(), "it listens there")
	g.Expect((&measure.Measure{Dial: measure.DialOthers}).Attempt(t.Context(), outside, false).Failure).
		To(Equal("no connection: a probe does not connect to loopback, link-local or multicast addresses"))
}

// Of several endpoints of a Service one may have died a moment ago.
func TestAServiceIsTriedMoreThanOnce(t *testing.T) {
	g := NewWithT(t)
	address, tries := peer(t, "node-b"), 0
	m := measure.Measure{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if tries++; tries < 3 {
			return nil, io.ErrUnexpectedEOF
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	g.Expect(m.Attempt(t.Context(), target(v1alpha1.CheckServices, "trellis-probe", "10.2.0.9:80"), false).Failure).To(BeEmpty())
	tries = -3
	g.Expect(m.Attempt(t.Context(), target(v1alpha1.CheckServices, "trellis-probe", "10.2.0.9:80"), false).Failure).
		To(Equal("no connection: unexpected EOF"))
}

// The socket's deadline passes at the same time as that of the attempt. Which one a program sees first must
// not change what users read.
func TestATimeoutHasOneText(t *testing.T) {
	for name, seen := range map[string]error{"the socket's": os.ErrDeadlineExceeded, "the context's": context.DeadlineExceeded} {
		m := measure.Measure{Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: seen}
		}}
		outcome := m.Attempt(t.Context(), target(v1alpha1.CheckPods, "node-b", "10.1.0.9:80"), false)
		NewWithT(t).Expect(outcome.Failure).To(Equal("no connection within 3s"), name)
	}
}

// Nothing answers questions about names at the port of a probe; a server that says something else
// than DNS is no DNS server either.
func TestADNSServerThatDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome := (&measure.Measure{}).Attempt(ctx, target(v1alpha1.CheckDNS, "trellis-probe.kube-system.svc.cluster.local.", peer(t, "node-b")), false)
	g.Expect(outcome.Failure).To(ContainSubstring("DNS server"))
}

// Two probes must not answer each other's answers.
func TestOnlyQuestionsAreAnswered(t *testing.T) {
	g := NewWithT(t)
	conn, err := net.Dial("udp4", peer(t, "node-b"))
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	for _, text := range []string{"A-an answer", "", "x", "Q-a question"} {
		_, err := conn.Write([]byte(text))
		g.Expect(err).NotTo(HaveOccurred())
	}
	answer := make([]byte, 100)
	n, err := conn.Read(answer)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(answer[:n])).To(Equal("A-a question"), "the first answer is that to the last datagram")
}

func TestBodiesThatComeBackAreBounded(t *testing.T) {
	g := NewWithT(t)
	url := "http://" + netip.MustParseAddrPort(peer(t, "node-b")).String() + respond.Path
	for _, length := range []int{0, 1000, respond.MaxBody} {
		response, err := http.Post(url, "", strings.NewReader(strings.Repeat("x", length)))
		g.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(body).To(HaveLen(length))
	}
	response, err := http.Post(url, "", strings.NewReader(strings.Repeat("x", respond.MaxBody+1)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.StatusCode).To(Equal(http.StatusRequestEntityTooLarge))
}

func TestAPeerInIPv6(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	datagrams, err := net.ListenUDP("udp6", net.UDPAddrFromAddrPort(listener.Addr().(*net.TCPAddr).AddrPort()))
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _ = respond.HTTP(t.Context(), listener, respond.Identity{Node: "node-b"}) }()
	go func() { _ = respond.Datagrams(t.Context(), datagrams) }()
	six := probe.Target{Family: v1alpha1.IPv6, Type: v1alpha1.CheckPods, Name: "node-b", Address: listener.Addr().String()}
	outcome := (&measure.Measure{MTU: 1450}).Attempt(t.Context(), six, true)
	g.Expect(outcome.Failure).To(BeEmpty())
	g.Expect(outcome.FullSizePackets).To(Equal(ptr.To(true)))
}
