// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Names of resources in paths.
const (
	networks         = "networks"
	managedResources = "managedresources"
	secrets          = "secrets"
	inSeed           = "seed"
	inShoot          = "shoot"
)

// write is one request that changed an object, or tried to.
type write struct {
	cluster, method                  string
	group, resource, namespace, name string
	subresource                      string
	process                          int
	// apply means that it was a server-side apply.
	apply bool
	// began and ended are its moments in the history. ended is 0 until the answer.
	began, ended int
	// at is the time of the answer.
	at time.Time
	// revision is etcd's revision of the write, or 0 if the answer does not have it.
	revision int64
	// code is the status code of the answer, or 0 if there was none.
	code int
	// result is the object as the API server returned it.
	result *unstructured.Unstructured
}

// newWrite parses a request. The path is /api/v1 or /apis/GROUP/VERSION, followed by
// [/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]].
func newWrite(cluster string, process int, request *http.Request) *write {
	w := &write{cluster: cluster, method: request.Method, process: process}
	w.apply = strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch")
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if parts[0] == "apis" {
		w.group, parts = parts[1], parts[1:]
	}
	parts = parts[2:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		w.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	w.resource, w.name, w.subresource = parts[0], parts[1], parts[2]
	return w
}

// String returns the write as a line for a test's log.
func (w *write) String() string {
	name := strings.Trim(w.namespace+"/"+w.name+"/"+w.subresource, "/")
	return fmt.Sprintf("%d. process %d: %s %s %s %s: %d", w.began, w.process, w.cluster, w.method, w.resource, name, w.code)
}

// is reports whether the write is of a resource in a cluster, and succeeded.
func (w *write) is(cluster, resource string) bool {
	return w.cluster == cluster && w.resource == resource && w.landed()
}

func (w *write) landed() bool { return w.code >= 200 && w.code < 300 }

// key identifies the object.
func (w *write) key() string {
	return strings.Join([]string{w.cluster, w.group, w.resource, w.namespace, w.name}, " ")
}

func (w *write) finalizers() []string {
	if w.result == nil {
		return nil
	}
	return w.result.GetFinalizers()
}

// history are the writes of a run, in the order in which they were sent.
type history []*write

// before returns the writes that landed before a write. All writes of a run are in one etcd.
// Where answers have etcd's revision, before compares the revisions, since an event about a
// write may arrive before its answer. Without revisions, it returns the writes that may have
// landed before.
func (h history) before(one *write) history {
	var found history
	for _, each := range h {
		if !each.landed() {
			continue
		}
		earlier := each.began < one.began
		if each.revision != 0 && one.revision != 0 {
			earlier = each.revision < one.revision
		}
		if earlier {
			found = append(found, each)
		}
	}
	at := found.revisions()
	slices.SortStableFunc(found, func(a, b *write) int { return cmp.Compare(at[a], at[b]) })
	return found
}

// revisions returns etcd's revision of each write. If an answer has none, it is the revision
// of the last write that was answered before this one was sent.
func (h history) revisions() map[*write]int64 {
	answered := slices.SortedFunc(slices.Values(h), func(a, b *write) int { return cmp.Compare(a.ended, b.ended) })
	at, last := make(map[*write]int64, len(h)), int64(0)
	for _, one := range h {
		for ; answered[0].ended < one.began; answered = answered[1:] {
			last = max(last, answered[0].revision)
		}
		at[one] = cmp.Or(one.revision, last)
	}
	return at
}

// of returns the successful writes of a resource in a cluster.
func (h history) of(cluster, resource string) history {
	return slices.DeleteFunc(slices.Clone(h), func(w *write) bool { return !w.is(cluster, resource) })
}

// named returns the writes of objects with a name.
func (h history) named(name string) history {
	return slices.DeleteFunc(slices.Clone(h), func(w *write) bool { return w.name != name })
}

// unexpected returns the writes, from a place on, of a process that should have nothing to do.
// It allows the write of a message that controller/networkstatus has delayed: the next process
// may write that one.
func (h history) unexpected(from int) []string {
	found := h.unchanging(from)
	for _, one := range h[from:] {
		if !one.apply || one.resource != networks {
			found = append(found, one.String())
		}
	}
	return found
}

// last returns the last write whose answer has the object, or nil.
func (h history) last() *write {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].result != nil && h[i].result.GetKind() != "Status" {
			return h[i]
		}
	}
	return nil
}

func (w *world) begin(one *write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moment++
	one.began = w.moment
	w.history = append(w.history, one)
	w.lastWrite = time.Now()
}

func (w *world) end(one *write, code int, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moment++
	one.ended, one.code, one.at = w.moment, code, time.Now()
	w.lastWrite = one.at
	object := map[string]any{}
	if code == 0 || json.Unmarshal(body, &object) != nil || object["kind"] == nil {
		return
	}
	one.result = &unstructured.Unstructured{Object: object}
	one.revision, _ = strconv.ParseInt(one.result.GetResourceVersion(), 10, 64)
	if one.name == "" && one.landed() {
		one.name = one.result.GetName()
	}
}

// written returns the history so far.
func (w *world) written() history {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.history)
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
