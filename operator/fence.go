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
	lease   string // its path in the API
	holds   time.Duration
	now     func() time.Time
	renewed atomic.Pointer[time.Time]
	// givenUp says that the Lease was not renewed since, but given up for another to take.
	givenUp atomic.Bool
}

// newFence fences whoever is elected by a manager's options.
func newFence(options *manager.Options) *fence {
	return &fence{
		lease: fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", options.LeaderElectionNamespace, options.LeaderElectionID),
		holds: *options.LeaseDuration,
		now:   time.Now,
	}
}

// around has all requests by a configuration go through the fence.
func (f *fence) around(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return f.wrap(next) })
}

func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, f.lease) {
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
	asked, released := f.now(), releases(request)
	if released {
		f.givenUp.Store(true) // before anybody can have it
	}
	response, err := next.RoundTrip(request)
	if err == nil && request.Method == http.MethodPut && response.StatusCode == http.StatusOK && !released {
		f.renewed.Store(&asked)
		f.givenUp.Store(false)
	}
	return response, err
}

// releases says whether a request leaves the Lease without a holder.
func releases(request *http.Request) bool {
	if request.Method != http.MethodPut || request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return false
	}
	lease := &coordinationv1.Lease{}
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(raw, nil, lease)
	return err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == ""
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
