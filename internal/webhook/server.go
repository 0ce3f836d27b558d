// SPDX-License-Identifier: Apache-2.0

// Package webhook is the one webhook server of a program, with its certificates and its
// limits. Each kind of webhook is a package of its own, and registers its handlers here.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/trellis-network/trellis/internal/webhook/certificates"
)

// Options are the settings of the webhook server.
type Options struct {
	// Client reads and writes the Secret with the certificates, without a cache.
	Client client.Client
	// BindAddress is host:port.
	BindAddress string
	// URL is the beginning of the addresses of all webhooks: https, a host, optionally a
	// port and a path. It is empty if API servers reach them only through the Service.
	URL string
	// Namespace and Secret are those of the Secret with the certificates.
	Namespace, Secret string
	// Service is the name of the Service in Namespace through which the API server of this
	// cluster reaches the webhooks, at port 443; empty if it uses the URL. One of both is
	// required, and the API servers of other clusters need the URL.
	Service string
	// Clock is the source of time.
	Clock clock.WithTicker
}

// Server is a webhook server that is part of a manager. It runs in every replica.
type Server struct {
	served ctrlwebhook.Server
	limits *limits
	url    string
	// service is nil if there is none.
	service *admissionregistrationv1.ServiceReference
	kept    *certificates.Keeper
}

// Add adds a server to a manager. When it returns, the certificates exist. The server listens
// once the manager starts, and the manager is not ready before.
func Add(ctx context.Context, mgr ctrl.Manager, options Options) (*Server, error) {
	address, err := url.Parse(options.URL)
	if err != nil {
		return nil, err
	}
	var hosts []string
	if host := address.Hostname(); host != "" {
		hosts = append(hosts, host)
	}
	if options.Service != "" { // the name by which an API server checks what serves a Service
		hosts = append(hosts, fmt.Sprintf("%s.%s.svc", options.Service, options.Namespace))
	}
	if len(hosts) == 0 {
		return nil, errors.New("the webhooks need a URL or a Service by which API servers reach them")
	}
	kept, err := certificates.New(ctx, certificates.Options{
		Client: options.Client, Namespace: options.Namespace, Name: options.Secret, Hosts: hosts, Clock: options.Clock,
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
	s := &Server{
		served: ctrlwebhook.NewServer(ctrlwebhook.Options{Host: host, Port: number, TLSOpts: []func(*tls.Config){
			func(c *tls.Config) { c.GetCertificate, c.MinVersion = kept.Certificate, tls.VersionTLS12 },
		}}),
		limits: newLimits(), url: strings.TrimSuffix(options.URL, "/"), kept: kept,
	}
	if options.Service != "" {
		s.service = &admissionregistrationv1.ServiceReference{Namespace: options.Namespace, Name: options.Service, Port: new(int32(443))}
	}
	return s, errors.Join(mgr.Add(kept), mgr.Add(s.served), mgr.AddReadyzCheck("webhooks", s.served.StartedChecker()))
}

// Handle serves a webhook at a path, which no other has. All webhooks share the limits of what
// requests may cost. Handlers of sigs.k8s.io/controller-runtime/pkg/webhook/admission recover
// panics.
func (s *Server) Handle(path string, handler http.Handler) {
	s.served.Register(path, s.limits.around(handler))
}

// URL returns the address of a path, for API servers of any cluster; empty if they do not reach
// the server.
func (s *Server) URL(path string) string {
	if s.url == "" {
		return ""
	}
	return s.url + path
}

// CABundle returns the certificates, in PEM, that clients must trust from now on. It has a new
// authority a month before a serving certificate is signed by it, so clients that get the
// bundle within a month always trust what is served.
func (s *Server) CABundle() []byte { return s.kept.Bundle() }

// ClientConfig returns how the API server of the cluster with the Service calls the webhook at a
// path, for a webhook configuration: through the Service if there is one, or else by the URL.
func (s *Server) ClientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	config := admissionregistrationv1.WebhookClientConfig{CABundle: s.CABundle()}
	if s.service == nil {
		config.URL = new(s.URL(path))
		return config
	}
	config.Service = s.service.DeepCopy()
	config.Service.Path = &path
	return config
}

// Listening returns an error until the server accepts connections.
func (s *Server) Listening() error { return s.served.StartedChecker()(nil) }

// Changed receives a value when the CABundle has changed, one for several changes in a row.
// It is one channel for all callers. Without a server it is nil.
func (s *Server) Changed() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.kept.Changed()
}
