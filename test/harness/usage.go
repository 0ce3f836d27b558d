// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Usage records which rights the requests of a program use.
type Usage struct {
	namespace string

	mutex   sync.Mutex
	used    sets.Set[Right]
	refused []string
	written map[string][]string
}

// NewUsage returns an empty record of a program with a namespace of its own.
func NewUsage(namespace string) *Usage {
	return &Usage{namespace: namespace, used: sets.New[Right](), written: map[string][]string{}}
}

// Wrap returns a transport that records the rights that requests use, and sends them with next.
func (u *Usage) Wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && !isTerminating(response) {
			u.note(request, response.StatusCode)
		}
		return response, err
	})
}

// isTerminating reports whether an object was refused because its namespace is being deleted.
func isTerminating(response *http.Response) bool {
	if response.StatusCode != http.StatusForbidden {
		return false
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && strings.Contains(string(body), "because it is being terminated")
}

// Refused returns the requests for which the program lacks a right.
func (u *Usage) Refused() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return slices.Clone(u.refused)
}

// Written returns the requests that write objects in a namespace, each as a line.
func (u *Usage) Written(namespace string) []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return slices.Clone(u.written[namespace])
}

// Unused returns those rights that no request has used, in words and sorted. A right with a name
// is used by a request for that object, and one with a wildcard by none.
func (u *Usage) Unused(granted sets.Set[Right]) []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	var unused []string
	for right := range granted.Difference(u.used) {
		unused = append(unused, right.String())
	}
	slices.Sort(unused)
	return unused
}

func (u *Usage) note(request *http.Request, code int) {
	one, namespace, aboutObjects := u.rightFor(request)
	if !aboutObjects {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if code == http.StatusForbidden {
		u.refused = append(u.refused, fmt.Sprintf("%s: %s %s", one, request.Method, request.URL.Path))
		return
	}
	u.use(one)
	if request.URL.Query().Has("sendInitialEvents") { // API servers that do not know this are asked for a list
		one.Verb = "list"
		u.use(one)
	}
	if one.Verb == "patch" && code == http.StatusCreated { // a server-side apply
		one.Verb = "create"
		u.use(one)
	}
	if request.Method != http.MethodGet {
		u.written[namespace] = append(u.written[namespace], request.Method+" "+request.URL.Path)
	}
}

// use notes the right to one object, and that to all of its kind.
func (u *Usage) use(one Right) {
	u.used.Insert(one)
	one.Name = ""
	u.used.Insert(one)
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// rightFor returns what a request needs: /api/v1/… or /apis/GROUP/VERSION/…, then the
// namespace, if the resource has one, the resource, the name, and the subresource.
func (u *Usage) rightFor(request *http.Request) (one Right, namespace string, aboutObjects bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		one.Group, parts = parts[1], parts[3:]
	default:
		return one, "", false // discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	one.Resource, one.Own = parts[0], namespace == u.namespace
	if len(parts) > 1 {
		one.Name = parts[1]
	}
	if len(parts) > 2 {
		one.Resource += "/" + parts[2]
	}
	if one.Name == "" { // RBAC takes it for a request for one object
		one.Name, _ = strings.CutPrefix(request.URL.Query().Get("fieldSelector"), "metadata.name=")
	}
	switch {
	case request.Method != http.MethodGet:
		one.Verb = verbs[request.Method]
		if one.Verb == "delete" && one.Name == "" {
			one.Verb = "deletecollection"
		}
	case request.URL.Query().Has("watch"):
		one.Verb = "watch"
	case len(parts) == 1:
		one.Verb = "list"
	default:
		one.Verb = "get"
	}
	return one, namespace, true
}
