// SPDX-License-Identifier: Apache-2.0

// Package routes makes routes to the pods of nodes in the route tables of Amazon VPCs, with the
// EC2 API. It is apart from package aws because the client is large: only programs that make routes
// contain it.
package routes

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/trellis-network/trellis/providers/routes"
)

// Provider makes the routes. The zero value is ready for use.
type Provider struct {
	// Endpoint is the URL of the EC2 API, for tests; empty means that of the region.
	Endpoint string
	// Backoff returns how long a request waits before it is repeated, for tests; nil means the
	// client's own way, a random time up to maxBackoff.
	Backoff func(attempt int, err error) (time.Duration, error)
	// Timeout limits each attempt of a request; 0 means requestTimeout.
	Timeout time.Duration
}

var _ routes.Provider = Provider{}

const (
	requestTimeout = 20 * time.Second
	// maxAttempts is how often a request is sent that fails for a while, and maxBackoff how long it
	// waits in between. After that the controller waits, which occupies no worker.
	maxAttempts = 4
	maxBackoff  = 5 * time.Second
	// maxRoutes is the quota "Routes per route table" of Amazon VPC, of each IP family.
	maxRoutes = 500
)

// The keys of the credentials, as Gardener's extension has them.
const (
	accessKeyID     = "accessKeyID"
	secretAccessKey = "secretAccessKey"
)

// regions are the names that may become a part of the endpoint's host.
var regions = regexp.MustCompile(`^[a-z]{2,4}(-[a-z0-9]+){1,5}$`)

// Type implements routes.Provider.
func (Provider) Type() string { return "aws" }

// Open implements routes.Provider.
func (p Provider) Open(cluster routes.Cluster) (routes.Tables, error) {
	id, secret := string(cluster.Credentials[accessKeyID]), string(cluster.Credentials[secretAccessKey])
	if id == "" || secret == "" {
		return nil, fmt.Errorf("%w: they have no %s and %s; put both there, since roles and workload identities are not supported",
			routes.ErrNotAllowed, accessKeyID, secretAccessKey)
	}
	if !regions.MatchString(cluster.Region) {
		return nil, fmt.Errorf("spec.region of the Shoot is %q, which is no region such as eu-west-1; correct it", cluster.Region)
	}
	transport := http.RoundTripper(http.DefaultTransport)
	if cluster.Wrap != nil {
		transport = cluster.Wrap(transport)
	}
	options := ec2.Options{
		Region: cluster.Region, AppID: "trellis",
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		HTTPClient:  &http.Client{Transport: transport, Timeout: cmp.Or(p.Timeout, requestTimeout), CheckRedirect: refuseRedirects},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = maxAttempts, maxBackoff
			if p.Backoff != nil {
				o.Backoff = retry.BackoffDelayerFunc(p.Backoff)
			}
		}),
	}
	if p.Endpoint != "" {
		options.BaseEndpoint = aws.String(p.Endpoint)
	}
	return &tables{client: ec2.New(options), cluster: cluster.Name, claims: map[string]claims{}, interfaces: map[string]string{}}, nil
}

// refuseRedirects keeps signed requests from other hosts.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
