// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// fence refuses a leader's writes once another process may hold the Lease. A process that
// did not run for a while (paused, swapped out, starved) learns only some time after it
// continues that it is no longer the leader, and until then would send what is in its
// queues.
//
// The fence measures from the moment at which the last renewal was sent, by the process'
// monotonic clock: another process waits for the same duration from a later moment.
type fence struct {
	leases   string // the path of the Leases in the API
	id       string // the name of the Lease
	duration time.Duration
	now      func() time.Time
	renewed  atomic.Pointer[time.Time]
	// released reports that the leader released the Lease after the last renewal.
	released atomic.Bool
}

// newFence returns the fence of a manager with these options.
func newFence(options *manager.Options) *fence {
	return &fence{
		leases:   fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", options.LeaderElectionNamespace),
		id:       options.LeaderElectionID,
		duration: *options.LeaseDuration,
		now:      time.Now,
	}
}

// around makes all requests of a configuration pass the fence.
func (f *fence) around(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return f.wrap(next) })
}

func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if f.isAboutLease(request) {
			return f.renew(request, next)
		}
		if err := f.closed(request.Method); err != nil {
			return nil, err
		}
		return next.RoundTrip(request)
	})
}

// renew sends a request of the election.
func (f *fence) renew(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	sent, released := f.now(), request.Method == http.MethodPut && holderIn(request) == ""
	if released {
		f.released.Store(true) // before another process can get the Lease
	}
	response, err := next.RoundTrip(request)
	if err == nil && !released && (request.Method == http.MethodPut && response.StatusCode == http.StatusOK ||
		request.Method == http.MethodPost && response.StatusCode == http.StatusCreated) {
		f.renewed.Store(&sent)
		f.released.Store(false)
	}
	return response, err
}

// isAboutLease reports whether a request reads, creates or updates the Lease.
func (f *fence) isAboutLease(request *http.Request) bool {
	if request.Method != http.MethodPost {
		return strings.HasSuffix(request.URL.Path, f.leases+"/"+f.id)
	}
	return strings.HasSuffix(request.URL.Path, f.leases) && leaseIn(request).Name == f.id
}

func holderIn(request *http.Request) string {
	return ptr.Deref(leaseIn(request).Spec.HolderIdentity, "")
}

// leaseIn returns the Lease in a request's body, empty if that cannot be decoded.
func leaseIn(request *http.Request) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	if request.GetBody == nil {
		return lease
	}
	body, err := request.GetBody()
	if err != nil {
		return lease
	}
	defer func() { _ = body.Close() }()
	if raw, err := io.ReadAll(body); err == nil {
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(raw, nil, lease)
	}
	return lease
}

// closed returns an error if a leader must no longer write. A process that has never been
// the leader may: it only writes what all replicas write.
func (f *fence) closed(method string) error {
	renewed := f.renewed.Load()
	if method == http.MethodGet || renewed == nil {
		return nil
	}
	if f.released.Load() {
		return errors.New("not sent: this process released the leader's Lease, so another process may be the leader now")
	}
	if since := f.now().Sub(*renewed); since >= f.duration {
		return fmt.Errorf("not sent: this process renewed the leader's Lease %s ago, which expires after %s, so another process may be the leader now",
			since.Round(time.Millisecond), f.duration)
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
