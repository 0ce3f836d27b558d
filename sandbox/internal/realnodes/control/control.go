// SPDX-License-Identifier: Apache-2.0

// Package control is how commands reach the manager of a shoot's real nodes: HTTP on a Unix
// socket in the sandbox's directory, with JSON.
package control

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
	"net/url"
	"strings"

	"github.com/trellis-network/trellis/sandbox/internal/options"
	"github.com/trellis-network/trellis/sandbox/internal/realnodes/network"
	"github.com/trellis-network/trellis/sandbox/internal/unixsocket"
)

// Nodes are the nodes of a shoot.
type Nodes struct {
	// Router is the id of a process in the network namespace that has the bridges.
	Router int `json:"router"`
	// Kubeconfig is the path of an admin's kubeconfig of the shoot.
	Kubeconfig string `json:"kubeconfig"`
	Nodes      []Node `json:"nodes"`
}

// Node is the state of one node.
type Node struct {
	Name      string         `json:"name"`
	Subnet    string         `json:"subnet"`
	Addresses []netip.Addr   `json:"addresses"`
	Faults    network.Faults `json:"faults"`
	// PID is the id of the node's first process, as the machine has it, or 0 while the node
	// is down.
	PID int `json:"pid"`
}

// Manager is what the commands need of the manager. Its errors are options.Invalid if the request is
// one that the nodes, or their state, do not allow.
type Manager interface {
	Nodes() Nodes
	// SetFaults makes these the faults of a node, in place of its present ones.
	SetFaults(node string, faults network.Faults) error
	// Kill ends a node at once, as if its power was cut. Start starts one that is down, with
	// the state that it had.
	Kill(node string) error
	Start(node string) error
}

// Handler answers the requests of Client.
func Handler(manager Manager) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(manager.Nodes())
	})
	mux.HandleFunc("PUT /nodes/{node}/faults", func(w http.ResponseWriter, r *http.Request) {
		var faults network.Faults
		if err := json.NewDecoder(r.Body).Decode(&faults); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, manager.SetFaults(r.PathValue("node"), faults))
	})
	mux.HandleFunc("POST /nodes/{node}/kill", func(w http.ResponseWriter, r *http.Request) {
		answer(w, manager.Kill(r.PathValue("node")))
	})
	mux.HandleFunc("POST /nodes/{node}/start", func(w http.ResponseWriter, r *http.Request) {
		answer(w, manager.Start(r.PathValue("node")))
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	switch {
	case options.IsInvalid(err):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Client sends commands to a manager. Its errors are those of the manager.
type Client struct{ http *http.Client }

// NewClient returns a client for the manager that listens on a socket.
func NewClient(socket string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return unixsocket.Dial(ctx, socket)
		},
	}}}
}

// Nodes returns the state of all nodes.
func (c *Client) Nodes(ctx context.Context) (Nodes, error) {
	var nodes Nodes
	content, err := c.do(ctx, http.MethodGet, "/nodes", nil)
	if err == nil {
		err = json.Unmarshal(content, &nodes)
	}
	return nodes, err
}

// SetFaults makes these the faults of a node, in place of its present ones.
func (c *Client) SetFaults(ctx context.Context, node string, faults network.Faults) error {
	content, err := json.Marshal(faults)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPut, "/nodes/"+url.PathEscape(node)+"/faults", content)
	return err
}

// Kill ends a node at once.
func (c *Client) Kill(ctx context.Context, node string) error {
	_, err := c.do(ctx, http.MethodPost, "/nodes/"+url.PathEscape(node)+"/kill", nil)
	return err
}

// Start starts a node that is down.
func (c *Client) Start(ctx context.Context, node string) error {
	_, err := c.do(ctx, http.MethodPost, "/nodes/"+url.PathEscape(node)+"/start", nil)
	return err
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://manager"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the manager of the nodes: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return content, nil
	case http.StatusBadRequest:
		return nil, options.Invalidf("%s", strings.TrimSpace(string(content)))
	}
	return nil, errors.New(strings.TrimSpace(string(content)))
}
