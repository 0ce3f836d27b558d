// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the operator's webhooks, and says how they are reached.
//
// It refuses to know what any of them answers: each has a folder of its own.
package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/trellis-network/trellis/internal/webhook/adaptation"
	"github.com/trellis-network/trellis/internal/webhook/certificates"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Options say where the webhooks are served and how they are reached.
type Options struct {
	// Pipeline has the plugins.
	Pipeline *pipeline.Pipeline
	// BindAddress is host:port.
	BindAddress string
	// URL is what the addresses of all webhooks begin with: https, a host, perhaps a
	// port and a path.
	URL string
	// Namespace and Secret are those of the Secret with the certificates.
	Namespace, Secret string
	// Clock gives the time.
	Clock clock.WithTicker
}

// Server is a webhook server that is part of a manager.
type Server struct {
	url  string
	kept *certificates.Keeper
	// types are the network types that a webhook is served for.
	types []string
}

// Add adds a server to a manager. Its certificates are there when Add returns.
func Add(ctx context.Context, mgr ctrl.Manager, options Options) (*Server, error) {
	address, err := url.Parse(options.URL)
	if err != nil {
		return nil, err
	}
	kept, err := certificates.New(ctx, certificates.Options{
		Client: mgr.GetClient(), Namespace: options.Namespace, Name: options.Secret,
		Hosts: []string{address.Hostname()}, Clock: options.Clock,
	})
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(options.BindAddress)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("the port of %s: %w", options.BindAddress, err)
	}
	served := ctrlwebhook.NewServer(ctrlwebhook.Options{Host: host, Port: number, TLSOpts: []func(*tls.Config){
		func(c *tls.Config) { c.GetCertificate, c.MinVersion = kept.Certificate, tls.VersionTLS12 },
	}})
	s := &Server{url: strings.TrimSuffix(options.URL, "/"), kept: kept}
	for _, networkType := range options.Pipeline.Types() {
		if found, _ := options.Pipeline.Plugin(networkType); found.IsMutator() {
			served.Register(adaptation.Path(networkType), adaptation.Handler(found))
			s.types = append(s.types, networkType)
		}
	}
	if err := mgr.Add(kept); err != nil {
		return nil, err
	}
	if err := mgr.Add(served); err != nil {
		return nil, err
	}
	return s, mgr.AddReadyzCheck("webhooks", served.StartedChecker())
}

// ForShoots is how API servers of shoots ask about networks of a type; nil if there is
// nothing to be asked, or no server.
func (s *Server) ForShoots(networkType string) *plugin.Webhook {
	if s == nil || !slices.Contains(s.types, networkType) {
		return nil
	}
	return &plugin.Webhook{URL: s.url + adaptation.Path(networkType), CABundle: s.kept.Bundle()}
}

// Changed gives a sign when what ForShoots returns has changed; nil if there is no
// server.
func (s *Server) Changed() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.kept.Changed()
}
