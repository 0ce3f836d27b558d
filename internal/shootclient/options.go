// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"cmp"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SecretName is the name of the Secret, in a control-plane namespace, that
	// gives access to the shoot from anywhere.
	SecretName = "gardener"
	// InternalSecretName is the name of the Secret that gives access to it from
	// inside of the seed, where there is one.
	InternalSecretName = "gardener-internal"
	// SecretKey is the key of the kubeconfig in that Secret.
	SecretKey = "kubeconfig"
	// CopyOf is the annotation of that Secret, if it is a copy, with the Secret that
	// it is a copy of, as namespace/name: a better kubeconfig belongs there.
	CopyOf = "trellis.network/copy-of"
)

// Options are what Clients need. Everything but the two readers has a default.
type Options struct {
	// Metadata reads the metadata of Secrets in the seed; it should be a cache,
	// as it is asked each time.
	Metadata client.Reader
	// Secrets reads Secrets in the seed. It should not be a cache, so that
	// kubeconfigs do not lie about in memory.
	Secrets client.Reader

	// SecretNames are the names of the Secrets that give access, the preferred one
	// first: the first that is there is used. Default: SecretName alone.
	SecretNames []string
	// ManagedBy is the value of the label resources.gardener.cloud/managed-by on
	// the objects that are cached and watched. Default: gardener.
	ManagedBy string
	// QPS and Burst limit the requests to each shoot. Default: 50 and 100.
	QPS   float32
	Burst int
	// RequestTimeout bounds each request but watches. Default: 10 seconds.
	RequestTimeout time.Duration
	// ConnectTimeout bounds the first contact to a shoot, and the first one after
	// a failure. Default: 3 seconds.
	ConnectTimeout time.Duration
	// SyncTimeout bounds how long a read waits for the cache to be filled.
	// Default: 5 seconds.
	SyncTimeout time.Duration
	// RetryAfter is how long a shoot that did not answer is not asked again.
	// Default: 5 seconds.
	RetryAfter time.Duration
	// RefuseAddress reports that nothing must be connected to at an address. NeverClusters
	// makes one. Default: no address is refused.
	RefuseAddress func(netip.Addr) bool
	// IdleTimeout is how long the access to a shoot stays open that no controller asks for.
	// It should be longer than the time between two reconciliations. Default: 10 minutes.
	IdleTimeout time.Duration
	// WrapTransport, if set, sees all requests to a shoot.
	WrapTransport func(namespace string, next http.RoundTripper) http.RoundTripper
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock

	// trusted means that the cluster may take as much memory as it needs.
	trusted bool
}

// GivesAccess reports whether a Secret of this name may give access to a shoot.
func GivesAccess(secret string) bool { return secret == SecretName || secret == InternalSecretName }

func (o *Options) setDefaults() {
	if len(o.SecretNames) == 0 {
		o.SecretNames = []string{SecretName}
	}
	o.ManagedBy = cmp.Or(o.ManagedBy, "gardener")
	o.QPS = cmp.Or(o.QPS, 50)
	o.Burst = cmp.Or(o.Burst, 100)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 10*time.Second)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 3*time.Second)
	o.SyncTimeout = cmp.Or(o.SyncTimeout, 5*time.Second)
	o.RetryAfter = cmp.Or(o.RetryAfter, 5*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 10*time.Minute)
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
}
