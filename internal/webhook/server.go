// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the operator's webhooks, each of which is a package of its own,
// and returns their addresses for shoots.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/trellis-network/trellis/internal/webhook/certificates"
	"github.com/trellis-network/trellis/internal/webhook/mutation"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Options are the settings of the webhook server.
type Options struct {
	// Pipeline has the plugins, some of which have webhooks.
	Pipeline *pipeline.Pipeline
	// BindAddress is host:port.
	BindAddress string
	// URL is the beginning of the addresses of all webhooks: https, a host, optionally a
	// port and a path.
	URL string
	// Namespace and Secret are those of the Secret with the certificates.
	Namespace, Secret string
	// Clock is the source of time.
	Clock clock.WithTicker
}

// Server is a webhook server that is part of a manager.
type Server struct {
	url  string
	kept *certificates.Keeper
	// types are the network types that have a webhook.
	types []string
}

// Add adds a server to a manager. When it returns, the certificates exist.
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
	limited := newLimits()
	s := &Server{url: strings.TrimSuffix(options.URL, "/"), kept: kept}
	for _, networkType := range options.Pipeline.Types() {
		if found, _ := options.Pipeline.Plugin(networkType); found.IsMutator() {
			served.Register(mutation.Path(networkType), limited.around(mutation.Handler(found)))
			s.types = append(s.types, networkType)
		}
	}
	return s, errors.Join(mgr.Add(kept), mgr.Add(served), mgr.AddReadyzCheck("webhooks", served.StartedChecker()))
}

// ForShoots returns the webhook for shoots with networks of a type; nil if the type has
// none, or if there is no server.
func (s *Server) ForShoots(networkType string) *plugin.Webhook {
	if s == nil || !slices.Contains(s.types, networkType) {
		return nil
	}
	return &plugin.Webhook{URL: s.url + mutation.Path(networkType), CABundle: s.kept.Bundle()}
}

// Changed receives a value when the result of ForShoots has changed. Without a server it
// is nil.
func (s *Server) Changed() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.kept.Changed()
}
