// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// way is a way in which the API server of a shoot is hostile.
type way struct {
	name string
	// serve answers a request, or reports that the real API server is to answer it. namespace
	// is that of the control plane.
	serve func(w http.ResponseWriter, r *http.Request, namespace string) (answered bool)
	// changing means that the certificate is another one for each connection, and often not valid.
	changing bool
}

// ways are all of them. The first two run without -fairness.all.
var ways = []way{
	{name: "huge discovery", serve: hugeDiscovery},
	{name: "a watch that floods", serve: floods},
	{name: "endless list", serve: lists(func(w http.ResponseWriter) {
		for err := error(nil); err == nil; {
			_, err = io.WriteString(w, items)
		}
	})},
	{name: "endless pages", serve: lists(func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, page)
		_, _ = io.WriteString(w, `{"metadata":{"name":"last"}}],"metadata":{"resourceVersion":"1","continue":"more"}}`)
	})},
	{name: "gzip bomb", serve: everything(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})},
	{name: "slow bytes", serve: everything(slowBytes)},
	{name: "messages that always change", serve: moody},
	{name: "redirect", serve: everything(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+r.Host+"/elsewhere"+r.URL.Path, http.StatusTemporaryRedirect)
	})},
	{name: "1 MB messages", serve: butDiscovery(fails(http.StatusInternalServerError, metav1.StatusReasonInternalError, megabyte))},
	{name: "errors to everything", serve: everything(fails(http.StatusInternalServerError, metav1.StatusReasonInternalError, "broken"))},
	{name: "wrong content type", serve: everything(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Welcome</body></html>")
	})},
	{name: "429 for a day", serve: everything(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "86400")
		fails(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "come back tomorrow")(w, r)
	})},
	{name: "a version that lies", serve: lies},
	{name: "certificates that change", changing: true, serve: func(w http.ResponseWriter, _ *http.Request, _ string) bool {
		w.Header().Set("Connection", "close")
		return false
	}},
	{name: "404 of another server", serve: everything(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "404 page not found", http.StatusNotFound)
	})},
	{name: "answers after the deadline", serve: func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		select {
		case <-r.Context().Done():
			return true
		case <-time.After(11 * time.Second): // a request has 10
			return false
		}
	}},
}

// What is sent is made before memory is measured. All servers are in the test's process.
var (
	// megabyte is a megabyte of text.
	megabyte = strings.Repeat("x", 1<<20)
	// items are small items of a list, and page has fifty large ones, as many as are asked for.
	items = strings.Repeat(`{"metadata":{"name":"x"}},`, 1000)
	page  = strings.Repeat(fmt.Sprintf(`{"metadata":{"name":"x","annotations":{"a":%q}}},`, megabyte[:60<<10]), 50)
	// builtIn are Kubernetes' own groups that an API server cannot be without.
	builtIn = []string{"apps", "batch", "apiextensions.k8s.io", "policy", "autoscaling", "rbac.authorization.k8s.io"}
	// groups is a list of groups, and allowed and huge end lists of kinds: groups and allowed
	// together are nearly what a shoot may list.
	groups = func() string {
		document := &strings.Builder{}
		_, _ = io.WriteString(document, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`)
		for i := 0; document.Len() < 400<<10; i++ {
			name := fmt.Sprintf("group%d", i)
			if i < len(builtIn) {
				name = builtIn[i]
			}
			_, _ = fmt.Fprintf(document, `{"name":%[1]q,"versions":[{"groupVersion":"%[1]s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%[1]s/v1","version":"v1"}},`, name)
		}
		return document.String() + `{"name":"last","versions":[{"groupVersion":"last/v1","version":"v1"}]}]}`
	}()
	allowed, huge = kinds(10 << 10), kinds(7 << 20)
)

// kinds returns the end of a list of kinds, with this many bytes.
func kinds(size int) string {
	document := &strings.Builder{}
	for _, kind := range []string{"ConfigMap", "Namespace", "Node", "Deployment", "DaemonSet"} {
		_, _ = fmt.Fprintf(document, `{"name":"%ss","kind":%q,"namespaced":%v,"verbs":["get","list","watch","patch"]},`, strings.ToLower(kind), kind, !strings.HasPrefix(kind, "N"))
	}
	for i := 0; document.Len() < size; i++ {
		_, _ = fmt.Fprintf(document, `{"name":"x%d","kind":"X%d"},`, i, i)
	}
	return document.String() + `{"name":"last","kind":"Last"}]}`
}

// bomb is 64 MiB of spaces, compressed.
var bomb = func() []byte {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	for range 64 {
		_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	_ = z.Close()
	return compressed.Bytes()
}()

// everything answers all requests in one way.
func everything(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		answer(w, r)
		return true
	}
}

// butDiscovery answers the requests for objects in one way, and has the others answered.
func butDiscovery(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if isDiscovery(r) || r.URL.Path == "/version" {
			return false
		}
		answer(w, r)
		return true
	}
}

// isDiscovery reports whether a request is for the kinds that an API server has.
func isDiscovery(r *http.Request) bool {
	depth := strings.Count(r.URL.Path, "/")
	return r.URL.Path == "/api" || r.URL.Path == "/apis" ||
		strings.HasPrefix(r.URL.Path, "/api/") && depth == 2 || strings.HasPrefix(r.URL.Path, "/apis/") && depth == 3
}

// isWatch reports whether a request is a watch, also one that begins with a list.
func isWatch(r *http.Request) bool { return r.URL.Query().Has("watch") }

// fails answers with an error of an API server.
func fails(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	body, _ := json.Marshal(&metav1.Status{ // fails for no Status
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: message,
	})
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

// noStream makes a client list and then watch.
var noStream = fails(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "lists are not streamed here")

// lists ends each watch, so that what is watched is listed again, and writes the items of each
// list after its beginning.
func lists(end func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request, string) bool {
	expired := fails(http.StatusGone, metav1.StatusReasonExpired, "the version is too old")
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch {
		case r.URL.Query().Has("sendInitialEvents"):
			noStream(w, r)
		case isWatch(r):
			expired(w, r)
		case r.Method == http.MethodGet && r.URL.Query().Has("limit"):
			w.Header().Set("Content-Type", "application/json")
			kind, version := kindIn(r)
			_, _ = fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"items":[`, kind, version)
			end(w)
		default:
			return false
		}
		return true
	}
}

// kindIn returns the kind of objects, and its version, that the answer to a request has.
func kindIn(r *http.Request) (kind, version string) {
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
		return "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"), "/")
	resource := parts[len(parts)-1]
	version = strings.TrimSuffix(strings.Join(parts[:min(2, len(parts)-1)], "/"), "/namespaces")
	for _, each := range []string{"ConfigMap", "DaemonSet", "Deployment", "Job", "Namespace", "Node", "Pod"} {
		if strings.EqualFold(each+"s", resource) {
			kind = each
		}
	}
	return kind, version
}

// slowBytes begins an answer, and sends a byte of it now and then.
func slowBytes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	next := time.NewTicker(200 * time.Millisecond)
	defer next.Stop()
	for {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush() // fails when the client has gone
		select {
		case <-r.Context().Done():
			return
		case <-next.C:
		}
	}
}

// hugeDiscovery lists as many kinds as are allowed, and more.
func hugeDiscovery(w http.ResponseWriter, r *http.Request, _ string) bool {
	if !isDiscovery(r) {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api":
		_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		_, _ = io.WriteString(w, groups)
	default:
		version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`, version)
		end := allowed
		if version == "apps/v1" {
			end = huge
		}
		_, _ = io.WriteString(w, end)
	}
	return true
}

// floods sends events of each watch as fast as they are read: of changes of an object that
// belongs to the network, and many that only tell a version.
func floods(w http.ResponseWriter, r *http.Request, namespace string) bool {
	if !isWatch(r) {
		return false
	}
	if r.URL.Query().Has("sendInitialEvents") {
		noStream(w, r)
		return true
	}
	kind, version := kindIn(r)
	chunk := &bytes.Buffer{}
	for i := range 400 {
		event, about := "BOOKMARK", ""
		if i%40 == 0 {
			event = "MODIFIED"
			about = fmt.Sprintf(`,"name":"flood","namespace":%[1]q,"uid":"1","labels":{"resources.gardener.cloud/managed-by":"gardener"},"annotations":{"resources.gardener.cloud/origin":"%[1]s/example"}`, namespace)
		}
		_, _ = fmt.Fprintf(chunk, `{"type":%q,"object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}}`+"\n", event, kind, version, 1_000_000+i, about)
	}
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk.Bytes()); err != nil {
			break
		}
	}
	return true
}

var versions atomic.Int64

// lies tells another version each time, and takes each write without doing anything: it
// answers with the object that was sent.
func lies(w http.ResponseWriter, r *http.Request, _ string) bool {
	w.Header().Set("Content-Type", "application/json")
	next := versions.Add(1)
	switch {
	case r.URL.Path == "/version":
		_, _ = fmt.Fprintf(w, `{"major":"%d","minor":"-1","gitVersion":"v%d.-1.0"}`, next, next)
	case r.Method == http.MethodPatch:
		object := &metav1.PartialObjectMetadata{}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, object) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		object.ResourceVersion, object.UID = fmt.Sprint(next), "1"
		_ = json.NewEncoder(w).Encode(object) // fails when the client has gone
	default:
		w.Header().Del("Content-Type")
		return false
	}
	return true
}
