// SPDX-License-Identifier: Apache-2.0

// Package respond answers other probes: small HTTP exchanges, HTTP bodies that come back, and
// datagrams that come back.
package respond

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// Path is where probes exchange messages: GET returns an Identity, POST returns the body.
	Path = "/echo"
	// HealthPath is for the kubelet.
	HealthPath = "/healthz"
	// MaxBody is the length of a body that comes back.
	MaxBody = 64 << 10
	// MaxDatagram is the length of a datagram that comes back: one of the largest usual frame.
	MaxDatagram = 9216
	// Question and Answer are the first bytes of a datagram and of its echo. Only a
	// question is answered, so that two probes cannot be made to answer each other for ever.
	Question, Answer = 'Q', 'A'

	// maxConnections is the number of connections at a time; a probe is tested by about six others.
	maxConnections = 128
	timeout        = 10 * time.Second
	maxHeader      = 4 << 10
)

// Identity is what a probe states about itself.
type Identity struct {
	// Node is the name of its node.
	Node string `json:"node"`
	// Addresses are those of the node.
	Addresses []string `json:"addresses,omitempty"`
}

// HTTP answers HTTP requests until ctx ends, and closes listener.
func HTTP(ctx context.Context, listener net.Listener, own Identity) error {
	identity, err := json.Marshal(own)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(identity)
	})
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			http.Error(w, "too large, or cut off", http.StatusRequestEntityTooLarge)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET "+HealthPath, func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{
		Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: maxHeader,
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(netutil.LimitListener(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Datagrams returns datagrams until ctx ends, and closes conn.
func Datagrams(ctx context.Context, conn net.PacketConn) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	buffer := make([]byte, MaxDatagram)
	for {
		n, from, err := conn.ReadFrom(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil || n == 0 || buffer[0] != Question:
			continue
		}
		buffer[0] = Answer
		// What cannot be sent is lost, like any datagram.
		_, _ = conn.WriteTo(buffer[:n], from)
	}
}
