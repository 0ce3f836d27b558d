// SPDX-License-Identifier: Apache-2.0

package flannel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// port is where pods listen.
const port = 8080

// echo answers TCP and UDP at an address of a network with what it gets, until the test ends. A
// connection first gets the address from which the server sees it, as a line.
func echo(t *testing.T, in network, address netip.Addr) {
	t.Helper()
	at := netip.AddrPortFrom(address, port)
	var listener *net.TCPListener
	var packets *net.UDPConn
	if err := in.within(func() (err error) {
		if listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)); err != nil {
			return err
		}
		packets, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = listener.Close(), packets.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = fmt.Fprintf(connection, "%s\n", connection.RemoteAddr())
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, from, err := packets.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteToUDPAddrPort(buffer[:n], from)
		}
	}()
}

// dial connects to a server from a network. The connection lasts some seconds.
func dial(from network, to netip.AddrPort) (connection net.Conn, err error) {
	const timeout = 3 * time.Second
	if err := from.within(func() (err error) {
		connection, err = net.DialTimeout("tcp", to.String(), timeout)
		return err
	}); err != nil {
		return nil, err
	}
	return connection, connection.SetDeadline(time.Now().Add(timeout))
}

// exchange is exchangeAt for the port where pods listen.
func exchange(from network, address netip.Addr) (seen netip.Addr, err error) {
	return exchangeAt(from, netip.AddrPortFrom(address, port))
}

// exchangeAt sends a quarter of a megabyte to an echo over TCP and back, and returns the address
// from which the server saw it.
func exchangeAt(from network, to netip.AddrPort) (seen netip.Addr, err error) {
	connection, err := dial(from, to)
	if err != nil {
		return seen, err
	}
	defer connection.Close()
	sent := bytes.Repeat([]byte("packets!"), 32<<10)
	go func() {
		_, _ = connection.Write(sent)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	received, err := io.ReadAll(connection)
	if err != nil {
		return seen, err
	}
	line, rest, _ := bytes.Cut(received, []byte("\n"))
	if !bytes.Equal(rest, sent) {
		return seen, fmt.Errorf("sent %d bytes and got %d", len(sent), len(rest))
	}
	remote, err := netip.ParseAddrPort(string(line))
	return remote.Addr().Unmap(), err
}

// loop sends a datagram every five milliseconds to an echo, and counts what comes back.
type loop struct {
	t              *testing.T
	connection     *net.UDPConn
	stop, finished chan struct{}
	sent, received atomic.Int64
}

// startLoop waits until the echo answers, and starts: Linux does not use a new IPv6 address, such
// as that of a node's first bridge, before it has looked for another machine with it.
func startLoop(t *testing.T, from network, address netip.Addr) *loop {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() error {
		_, err := exchange(from, address)
		return err
	}, patience).Should(gomega.Succeed())
	l := &loop{t: t, stop: make(chan struct{}), finished: make(chan struct{})}
	if err := from.within(func() (err error) {
		l.connection, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, port)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.connection.Close() })
	go l.send()
	go l.receive()
	return l
}

func (l *loop) send() {
	defer close(l.finished)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			// An error is the answer to an earlier datagram, and this one is not on its way.
			_, _ = l.connection.Write(binary.BigEndian.AppendUint64(nil, uint64(l.sent.Add(1))))
		}
	}
}

func (l *loop) receive() {
	seen := map[uint64]bool{}
	buffer := make([]byte, 64)
	for {
		n, err := l.connection.Read(buffer)
		switch {
		case errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err == nil && n == 8:
			if number := binary.BigEndian.Uint64(buffer); !seen[number] {
				seen[number] = true
				l.received.Add(1)
			}
		}
	}
}

// end ends the loop, and returns how many datagrams it sent and how many did not come back
// within a second.
func (l *loop) end() (sent, lost int64) {
	l.t.Helper()
	close(l.stop)
	<-l.finished
	last := time.After(time.Second)
	for l.received.Load() < l.sent.Load() {
		select {
		case <-last:
			return l.sent.Load(), l.sent.Load() - l.received.Load()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return l.sent.Load(), 0
}

// awaitSent waits until the loop has sent that many more datagrams.
func (l *loop) awaitSent(more int64) {
	for until := l.sent.Load() + more; l.sent.Load() < until; {
		<-time.After(10 * time.Millisecond)
	}
}
