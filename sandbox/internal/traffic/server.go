// SPDX-License-Identifier: Apache-2.0

// Package traffic sends packets from one pod to another, and counts those that got lost.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	// largest is the size of the largest datagram.
	largest = 64 << 10
	// maxBytes limits what a request may ask for.
	maxBytes = 1 << 30
	// headerTimeout ends connections on which no request comes.
	headerTimeout = 10 * time.Second
)

// Server answers HTTP requests and datagrams.
type Server struct {
	tcp net.Listener
	udp net.PacketConn
}

// Listen opens the address, host:port, for TCP and for UDP. With port 0 both have the same
// port, which the kernel chooses for TCP; Listen returns an error if it is not free for UDP.
func Listen(address string) (*Server, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return &Server{tcp: tcp, udp: udp}, nil
}

// Address is where the server listens, as host:port.
func (s *Server) Address() string { return s.tcp.Addr().String() }

// Serve answers until ctx ends, and returns nil then.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: headerTimeout}
	stop := context.AfterFunc(ctx, func() {
		_ = server.Close()
		_ = s.udp.Close()
	})
	defer stop()
	go s.echo()
	if err := server.Serve(s.tcp); ctx.Err() == nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// echo sends each datagram back, until the socket is closed.
func (s *Server) echo() {
	buffer := make([]byte, largest)
	for {
		size, from, err := s.udp.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			// A datagram that cannot be sent is lost, as any other.
			_, _ = s.udp.WriteTo(buffer[:size], from)
		}
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	if asked := r.URL.Query().Get("bytes"); asked != "" {
		size, err := strconv.ParseInt(asked, 10, 64)
		if err != nil || size < 0 || size > maxBytes {
			http.Error(w, fmt.Sprintf("bytes is %q; it must be from 0 to %d", asked, maxBytes), http.StatusBadRequest)
			return
		}
		_, _ = io.CopyN(w, zeros{}, size)
		return
	}
	host, _ := os.Hostname()
	fmt.Fprintf(w, "%s %s from %s\n", host, r.Context().Value(http.LocalAddrContextKey), r.RemoteAddr)
}

// zeros is an endless file of zeros.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
