// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
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
)

// What one shoot's answers may cost. docs/security.md explains these limits.
const (
	maxAnswer, maxAnswers = 8 << 20, 16 << 20 // bytes of one, and of all at the same time
	maxNested             = 100_000           // JSON objects in one answer, and in one event
	maxHeaders            = 64 << 10          // bytes of one answer
	maxEvent              = 4 << 20           // bytes of one event of a watch
	watchRate, watchBurst = 4 << 20, 64 << 20 // bytes of all watches, a second and at once
	maxUnread             = 1 << 20           // bytes that the network holds of one answer
	maxRetryAfter         = 1                 // seconds that a request waits; controllers do the rest
	maxCauses             = 20                // of a Status
	pageSize, maxPages    = 100, 100          // objects and pages of a list of an informer
	maxItems              = 1000              // objects that a list may have if no limit was asked for
	listTimeout           = time.Minute       // of all its pages
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
}

// Errors about answers. None quotes what answered, which may be any server that the operator
// reaches.
var (
	errRedirect    = errors.New("the answer leads to another address, which is not followed; put the address of the API server itself into the kubeconfig")
	errBroken      = errors.New("the connection ended before a whole answer in HTTP arrived")
	errNested      = fmt.Errorf("the answer has more than %d nested objects", maxNested)
	errNoAPIServer = errors.New("what answers is not a Kubernetes API server; correct the address in the kubeconfig")
)

// tellable matches the errors of a transport, beside those of the network, that quote nothing of
// what was received.
var tellable = regexp.MustCompile(`^(tls: |net/http: request canceled|http: server gave HTTP response to HTTPS client)|x509: `)

// RoundTrip implements http.RoundTripper.
func (l *limits) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		if !errors.As(err, new(net.Error)) && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) && !tellable.MatchString(err.Error()) {
			err = errBroken
		}
		return nil, err
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
	counted := &counted{ReadCloser: response.Body, all: &l.reading}
	response.Body = counted
	body, err := io.ReadAll(counted)
	switch {
	case err != nil:
		return err
	case nested(body) > maxNested:
		return errNested
	case code >= 400:
		body = statusOf(body)
		response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	case path == "/version" && !json.Valid(body), path != "/version" && !isObject(body):
		return errNoAPIServer
	}
	response.ContentLength = int64(len(body))
	response.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), counted}
	return nil
}

// counted is the body of an answer that is read whole. It counts until it is closed.
type counted struct {
	io.ReadCloser
	all  *atomic.Int64
	size int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.size += int64(n)
	switch all := c.all.Add(int64(n)); {
	case c.size > maxAnswer:
		return 0, fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
	case all > maxAnswers:
		return 0, fmt.Errorf("the answers to all requests together have more than %d MiB", maxAnswers>>20)
	}
	return n, err
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
	status.Message = condition.Shorten(status.Message, condition.MaxMessage)
	if details := status.Details; details != nil {
		details.Causes = details.Causes[:min(len(details.Causes), maxCauses)]
		for i := range details.Causes {
			details.Causes[i].Message = condition.Shorten(details.Causes[i].Message, condition.MaxMessage)
		}
	}
	short, _ := json.Marshal(status) // fails for no Status
	return short
}

// nested returns how many objects, or ten values of a list each, JSON has at most. Two bytes of
// it may become a thousand when they are decoded.
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

// eventReader reads the events of a watch. In JSON, a line break ends each.
type eventReader struct {
	io.ReadCloser
	ctx  context.Context
	rate *rate.Limiter
	// event is how many bytes of the present event were read, with how many objects.
	event, nested int
}

// Read implements io.Reader. It waits while events arrive too fast, which slows the sender.
func (r *eventReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p[:min(len(p), 64<<10)])
	last := p[:n]
	if i := bytes.LastIndexByte(last, '\n'); i >= 0 {
		last, r.event, r.nested = last[i+1:], 0, 0
	}
	r.event, r.nested = r.event+len(last), r.nested+nested(last)
	if r.event > maxEvent || r.nested > maxNested {
		return 0, fmt.Errorf("an event of a watch has more than %d MiB, or %d nested objects", maxEvent>>20, maxNested)
	}
	if wait := r.rate.WaitN(r.ctx, n); wait != nil {
		return 0, wait
	}
	return n, err
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
