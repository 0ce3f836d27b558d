// SPDX-License-Identifier: Apache-2.0

// Package apiserver sends the few requests of a probe to its API server, with nothing but
// net/http. Answers are bounded, no redirect is followed, and no proxy is used.
package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
)

const (
	// timeout is that of one request with its answer.
	timeout = 10 * time.Second
	// maxAnswer is the length of an answer once it is decompressed. The endpoints of 1,000 probes
	// in two families take 0.6 MB.
	maxAnswer = 16 << 20
	// maxFile is the length of a token or of the certificates of the API server.
	maxFile = 1 << 20
	// maxHeader is the length of an answer's header.
	maxHeader = 64 << 10
	// maxMessage is how much of the message of a refusal is repeated.
	maxMessage = 512
	// fieldManager is the owner of the report's fields.
	fieldManager = "trellis-probe"
)

// Client sends requests to an API server.
type Client struct {
	// URL of the API server: https, host and port.
	URL string
	// Credentials is a folder with the files token and ca.crt, which the kubelet renews. They are
	// read again for each request.
	Credentials string

	ca   []byte
	http *http.Client
	// reached is the address of the last connection.
	reached atomic.Pointer[string]
}

// Endpoint is one address of a Service.
type Endpoint struct {
	Node               string
	Address            netip.Addr
	Ready, Terminating bool
}

// Endpoints returns the endpoints of a Service, from the cache of the API server, which may be some
// seconds late. Addresses that are none are left out.
func (c *Client) Endpoints(ctx context.Context, namespace, service string) ([]Endpoint, error) {
	var list struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string `json:"addresses"`
				NodeName   string   `json:"nodeName"`
				Conditions struct {
					Ready       *bool `json:"ready"`
					Terminating bool  `json:"terminating"`
				} `json:"conditions"`
			} `json:"endpoints"`
		} `json:"items"`
	}
	query := url.Values{"labelSelector": {"kubernetes.io/service-name=" + service}, "resourceVersion": {"0"}}
	path := "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices?" + query.Encode()
	if err := c.do(ctx, http.MethodGet, path, "", nil, &list); err != nil {
		return nil, fmt.Errorf("list the endpoints of the probes: %w", err)
	}
	var all []Endpoint
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses[:min(1, len(endpoint.Addresses))] { // the others have no meaning
				if address, err := netip.ParseAddr(text); err == nil {
					ready := endpoint.Conditions.Ready
					all = append(all, Endpoint{endpoint.NodeName, address, ready == nil || *ready, endpoint.Conditions.Terminating})
				}
			}
		}
	}
	return all, nil
}

// ServiceIPs returns the cluster IPs of a Service.
func (c *Client) ServiceIPs(ctx context.Context, namespace, service string) ([]netip.Addr, error) {
	var found struct {
		Spec struct {
			ClusterIPs []string `json:"clusterIPs"`
		} `json:"spec"`
	}
	if err := c.do(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/services/"+service, "", nil, &found); err != nil {
		return nil, fmt.Errorf("read the Service of the probes: %w", err)
	}
	var addresses []netip.Addr
	for _, text := range found.Spec.ClusterIPs {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// Report writes the report of a node by server-side apply: one request, whether the object
// exists or not, and no conflict, since nothing else owns its fields. The node becomes
// the owner of the object if the token states the node's UID, so that the object goes
// when the node goes.
func (c *Client) Report(ctx context.Context, node string, report v1alpha1.Report) error {
	object := v1alpha1.NodeConnectivity{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeConnectivity"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Report:     report,
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	if claimed := claims(token).Kubernetes.Node; claimed.Name == node && claimed.UID != "" {
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: claimed.UID}}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	path := "/apis/" + v1alpha1.GroupVersion.String() + "/nodeconnectivities/" + url.PathEscape(node) +
		"?force=true&fieldManager=" + fieldManager
	if err := c.do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", body, nil); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// StatusError is an answer other than success.
type StatusError struct {
	Code    int
	Message string
	// RetryAfter is how long the API server asks to wait; 0 if it does not.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the API server answers %d: %s", e.Code, e.Message)
}

// do sends one request, and decodes the answer into result unless that is nil.
func (c *Client) do(ctx context.Context, method, path, contentType string, body []byte, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	sender, err := c.client()
	if err != nil {
		return err
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", fieldManager)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := sender.Do(request)
	if err != nil {
		return errors.Unwrap(err) // without the URL
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(answer) > maxAnswer:
		return fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case response.StatusCode/100 != 2:
		return refusal(response, answer)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer, result)
}

func refusal(response *http.Response, answer []byte) error {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &status) != nil {
		status.Message = "no Status"
	}
	seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	return &StatusError{
		Code: response.StatusCode, Message: status.Message[:min(len(status.Message), maxMessage)], RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// client returns a client that trusts the present certificates.
func (c *Client) client() (*http.Client, error) {
	ca, err := readFile(filepath.Join(c.Credentials, "ca.crt"))
	if err != nil {
		return nil, err
	}
	if c.http != nil && bytes.Equal(ca, c.ca) {
		return c.http, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt has no certificate")
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.ca, c.http = ca, &http.Client{
		Transport: &http.Transport{
			DialContext:            c.dial,
			TLSClientConfig:        &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    timeout,
			MaxResponseHeaderBytes: maxHeader,
			// A probe sends a request a minute or less. A connection that lived longer would keep
			// memory of the API server for each node. It is HTTP/1.1, since that of a request
			// that got no answer is closed: HTTP/2 would go on with it, for minutes after the
			// network was repaired.
			IdleConnTimeout: 2 * time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.http, nil
}

// dial connects to the API server or, where its name cannot be resolved, to the address at which it
// was reached before: a probe that needed the cluster's DNS could not report that it fails.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	reached := c.reached.Load()
	if unresolved := (*net.DNSError)(nil); reached != nil && errors.As(err, &unresolved) {
		return (&net.Dialer{}).DialContext(ctx, network, *reached)
	}
	if err == nil {
		remote := conn.RemoteAddr().String()
		c.reached.Store(&remote)
	}
	return conn, err
}

func (c *Client) token() (string, error) {
	content, err := readFile(filepath.Join(c.Credentials, "token"))
	return strings.TrimSpace(string(content)), err
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// tokenClaims are the parts of a ServiceAccount token's claims that a probe reads. Kubernetes
// states the node of the pod since 1.30.
type tokenClaims struct {
	Kubernetes struct {
		Node metav1.OwnerReference `json:"node"`
	} `json:"kubernetes.io"`
}

// claims returns the claims of the probe's own token, which it does not verify. They are empty if
// the token is no JWT.
func claims(token string) (all tokenClaims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return all
	}
	if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || json.Unmarshal(text, &all) != nil {
		return tokenClaims{}
	}
	return all
}
