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

// fence keeps a leader from writing once its Lease may be another's. A process that did
// not run for a while (paused, swapped out, starved) learns only some time after it has
// woken up that it is the leader no more, and what was in its queues goes out until then.
//
// It goes by the process' own monotonic clock, as the election does, and by when it asked
// for the last renewal: whoever takes the Lease waits as long from a later time on.
type fence struct {
	leases  string // the path of its namespace's Leases in the API
	id      string // its name
	holds   time.Duration
	now     func() time.Time
	renewed atomic.Pointer[time.Time]
	// givenUp says that the Lease was not renewed since, but given up for another to take.
	givenUp atomic.Bool
}

// newFence fences whoever is elected by a manager's options.
func newFence(options *manager.Options) *fence {
	return &fence{
		leases: fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", options.LeaderElectionNamespace),
		id:     options.LeaderElectionID,
		holds:  *options.LeaseDuration,
		now:    time.Now,
	}
}

// around has all requests by a configuration go through the fence.
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

// renew lets the election's own requests through.
func (f *fence) renew(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	asked, released := f.now(), request.Method == http.MethodPut && holderIn(request) == ""
	if released {
		f.givenUp.Store(true) // before anybody can have it
	}
	response, err := next.RoundTrip(request)
	if err == nil && !released && (request.Method == http.MethodPut && response.StatusCode == http.StatusOK ||
		request.Method == http.MethodPost && response.StatusCode == http.StatusCreated) {
		f.renewed.Store(&asked)
		f.givenUp.Store(false)
	}
	return response, err
}

// isAboutLease says whether a request is the election's: it reads or writes the Lease, or
// makes it.
func (f *fence) isAboutLease(request *http.Request) bool {
	if request.Method != http.MethodPost {
		return strings.HasSuffix(request.URL.Path, f.leases+"/"+f.id)
	}
	return strings.HasSuffix(request.URL.Path, f.leases) && leaseIn(request).Name == f.id
}

func holderIn(request *http.Request) string {
	return ptr.Deref(leaseIn(request).Spec.HolderIdentity, "")
}

// leaseIn is the Lease that a request is to write, with what can be read of it.
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

// closed tells why a leader must not write any more. Who never was one may: what all
// replicas write does not depend on the Lease.
func (f *fence) closed(method string) error {
	renewed := f.renewed.Load()
	if method == http.MethodGet || renewed == nil {
		return nil
	}
	if f.givenUp.Load() {
		return errors.New("not sent: this process gave the leader's Lease up, so another may be the leader by now")
	}
	if since := f.now().Sub(*renewed); since >= f.holds {
		return fmt.Errorf("not sent: this process renewed the leader's Lease %s ago, which is held for %s, so another may be the leader by now",
			since.Round(time.Millisecond), f.holds)
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
