// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/internal/jsoncost"
	"github.com/trellis-network/trellis/internal/keyed"
)

// What one shoot's answers may cost. docs/security.md explains these limits.
const (
	maxAnswer, maxAnswers = 4 << 20, 8 << 20   // bytes of one, and of all at the same time
	maxGroups, maxKinds   = 2 << 20, 512 << 10 // bytes of /api and /apis, and of the kinds of one group and version
	maxHeaders            = 64 << 10           // bytes of one answer
	maxEvent              = 4 << 20            // bytes of one event of a watch
	watchRate, watchBurst = 1 << 20, 16 << 20  // bytes of all watches, a second and at once
	eventWork             = 4 << 10            // bytes that an event counts more, since the least one takes time as well
	maxUnread             = 1 << 20            // bytes that the network holds of one answer
	maxRetryAfter         = 1                  // seconds that a request waits; controllers do the rest
	maxCauses             = 20                 // of a Status
	pageSize, maxPages    = 50, 200            // objects and pages of a list of an informer
	maxItems              = 1000               // objects that a list may have if no limit was asked for
	listTimeout           = time.Minute        // of all its pages
)

// limits is a transport that passes on only answers of API servers, and of those only as much
// as is allowed. An answer is read whole before it is passed on, so that its reader learns
// what is wrong with it from an error of the request.
type limits struct {
	next http.RoundTripper
	// prefix is the path of the server's URL, without a slash at its end.
	prefix string
	// reading is how many bytes of answers are in memory.
	reading atomic.Int64
	// events limits what is read from watches.
	events *rate.Limiter
	// cached is how many bytes the shoot has brought into the cache, and kinds the hash of the
	// last answer about its kinds, by path.
	cached *atomic.Int64
	kinds  keyed.Map[string, uint64]
}

// Limited returns a transport for requests to one shoot that passes on only answers of API
// servers, and of those no more than the operator takes. server is the URL of its API server. It is
// for programs that read little and end.
func Limited(server *url.URL, next http.RoundTripper) http.RoundTripper {
	return &limits{
		next: next, prefix: strings.TrimSuffix(server.Path, "/"),
		events: rate.NewLimiter(watchRate, watchBurst), cached: new(atomic.Int64),
	}
}

// Errors about answers. None quotes what answered, which may be any server that the operator
// reaches.
var (
	errRedirect    = errors.New("the answer leads to another address, which is not followed; put the address of the API server itself into the kubeconfig")
	errNoAPIServer = errors.New("what answers is not a Kubernetes API server; correct the address in the kubeconfig")
)

// RoundTrip implements http.RoundTripper.
func (l *limits) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		return nil, unanswered(err)
	}
	if err := l.admit(request, response); err != nil {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, err)
	}
	return response, nil
}

func (l *limits) admit(request *http.Request, response *http.Response) error {
	if wait, err := strconv.Atoi(response.Header.Get("Retry-After")); err != nil || wait > maxRetryAfter {
		response.Header.Del("Retry-After")
	}
	code, path := response.StatusCode, strings.TrimPrefix(request.URL.Path, l.prefix)
	switch watch, _ := strconv.ParseBool(request.URL.Query().Get("watch")); {
	case http.StatusText(code) == "":
		return errNoAPIServer // client-go's metrics have the codes of all answers
	case code >= 300 && code < 400:
		return errRedirect
	case code == http.StatusNotFound && slices.Contains([]string{"/version", "/api", "/apis"}, path):
		return errNoAPIServer // each API server has these
	case watch && code < 300 && !strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeJSON):
		return errNoAPIServer
	case watch && code < 300:
		response.Body = &eventReader{ReadCloser: response.Body, ctx: request.Context(), rate: l.events}
		return nil
	}
	most := mostBytes(path)
	counted := &counted{ReadCloser: response.Body, all: &l.reading, most: most}
	response.Body = counted
	body, err := io.ReadAll(counted)
	if err != nil {
		return err
	}
	_, costly := (&jsoncost.Scanner{}).Scan(body)
	switch {
	case costly != nil:
		return fmt.Errorf("the answer %w", costly)
	case code >= 400:
		body = statusOf(body)
	case path == "/version" && !json.Valid(body), path != "/version" && !isObject(body):
		return errNoAPIServer
	case most < maxAnswer && !l.admitKinds(path, body):
		return errTooLarge
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeJSON) {
		response.Header.Set("Content-Type", runtime.ContentTypeJSON) // client-go would decode it as YAML
	}
	response.ContentLength = int64(len(body))
	response.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), counted}
	return nil
}

// mostBytes returns how many bytes the answer to a path may have.
func mostBytes(path string) int64 {
	switch parts := strings.Split(path, "/"); {
	case path == "/api" || path == "/apis":
		return maxGroups
	case len(parts) == 3 && parts[1] == "api", len(parts) == 4 && parts[1] == "apis":
		return maxKinds
	}
	return maxAnswer
}

// What an object counts in a list of kinds, in bytes, and in a list of groups, which may have their
// kinds as well: four objects then are one kind. The mapper of kinds never forgets a kind, and
// looks at all of them again for each group whose list of kinds it asks for.
const kindOverhead, groupOverhead = 8 << 10, 1 << 10

// admitKinds counts what the kinds in an answer take, unless the last answer to this path was
// the same. It reports whether the shoot may bring that much.
func (l *limits) admitKinds(path string, body []byte) bool {
	hash := maphash.Bytes(hashSeed, body)
	if last, known := l.kinds.Get(path); known && last == hash {
		return true
	}
	l.kinds.Set(path, hash)
	overhead := kindOverhead
	if mostBytes(path) == maxGroups {
		overhead = groupOverhead
	}
	return l.cached.Add(int64(nested(body)*overhead)) <= maxCached
}

var hashSeed = maphash.MakeSeed()

// counted is the body of an answer that is read whole. It counts until it is closed.
type counted struct {
	io.ReadCloser
	all        *atomic.Int64
	size, most int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.size += int64(n)
	switch all := c.all.Add(int64(n)); {
	case c.size > c.most:
		return 0, fmt.Errorf("the answer has more than %g MiB", float64(c.most)/(1<<20))
	case all > maxAnswers:
		return 0, fmt.Errorf("the answers to all requests together have more than %d MiB", maxAnswers>>20)
	case err != nil:
		return n, unanswered(err)
	}
	return n, nil
}

// Close implements io.Closer.
func (c *counted) Close() error {
	c.all.Add(-c.size)
	c.size = 0
	return c.ReadCloser.Close()
}

// statusOf returns the metav1.Status in a body with its texts cut, as JSON, and nothing if
// there is none: client-go then makes an error of the code alone, with the cause
// CauseTypeUnexpectedServerResponse.
func statusOf(body []byte) []byte {
	status := &metav1.Status{}
	if kjson.UnmarshalCaseSensitivePreserveInts(body, status) != nil || status.Kind != "Status" || status.APIVersion != "v1" {
		return nil
	}
	status.ListMeta = metav1.ListMeta{}
	cut(&status.Message, &status.Status, (*string)(&status.Reason))
	if details := status.Details; details != nil {
		cut(&details.Name, &details.Group, &details.Kind, (*string)(&details.UID))
		details.Causes = details.Causes[:min(len(details.Causes), maxCauses)]
		for i := range details.Causes {
			cause := &details.Causes[i]
			cut(&cause.Message, &cause.Field, (*string)(&cause.Type))
		}
	}
	short, _ := json.Marshal(status) // fails for no Status
	return short
}

func cut(texts ...*string) {
	for _, text := range texts {
		*text = condition.Shorten(*text, condition.MaxMessage)
	}
}

// nested returns how many objects, or ten values of a list each, JSON has at most.
func nested(body []byte) int {
	return bytes.Count(body, []byte("{")) + bytes.Count(body, []byte(","))/10
}

// isObject reports whether a body has a kind and a version, and is no list of too many objects.
// The errors of decoders quote a body that has no kind.
func isObject(body []byte) bool {
	var object metav1.TypeMeta
	if kjson.UnmarshalCaseSensitivePreserveInts(body, &object) != nil || object.Kind == "" || object.APIVersion == "" && object.Kind != "APIVersions" {
		return false
	}
	var list struct {
		Items []struct{} `json:"items"`
	}
	return !strings.HasSuffix(object.Kind, "List") || kjson.UnmarshalCaseSensitivePreserveInts(body, &list) == nil && len(list.Items) <= maxItems
}

// eventReader reads the events of a watch. Each is an object in JSON; the decoder needs nothing
// between two of them.
type eventReader struct {
	io.ReadCloser
	ctx  context.Context
	rate *rate.Limiter
	// events are counted one by one.
	events jsoncost.Scanner
}

// Read implements io.Reader. It waits while events arrive too fast, which slows the sender.
func (r *eventReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p[:min(len(p), 64<<10)])
	events, costly := r.events.Scan(p[:n])
	if costly != nil {
		return 0, fmt.Errorf("an event of a watch %w", costly)
	}
	if r.events.Size > maxEvent {
		return 0, fmt.Errorf("an event of a watch has more than %d MiB", maxEvent>>20)
	}
	work := n + events*eventWork
	if wait := r.rate.WaitN(r.ctx, min(work, watchBurst)); wait != nil {
		return 0, wait
	}
	if err != nil {
		return n, unread(err)
	}
	return n, nil
}

// addressed is a transport that sends all requests to one server, whatever their URLs name,
// and asks for JSON: how much memory protobuf takes when it is decoded does not show.
type addressed struct {
	next http.RoundTripper
	host string
}

// RoundTrip implements http.RoundTripper.
func (a addressed) RoundTrip(request *http.Request) (*http.Response, error) {
	to := request.Clone(request.Context())
	to.URL.Host, to.Host = a.host, ""
	to.Header.Set("Accept", strings.Join(slices.DeleteFunc(strings.Split(to.Header.Get("Accept"), ","), func(each string) bool {
		return strings.Contains(each, "protobuf")
	}), ","))
	return a.next.RoundTrip(to)
}
