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

// write is one request that changed, or would have changed, something.
type write struct {
	cluster, method                  string
	group, resource, namespace, name string
	subresource                      string
	process                          int
	// apply means that it was a server-side apply.
	apply bool
	// began and ended are its place in the history; ended is 0 while it is under way.
	began, ended int
	// at is when it was answered.
	at time.Time
	// revision is what etcd had then, 0 if the answer does not tell.
	revision int64
	// code is the API server's answer, 0 if there was none.
	code int
	// result is the object as the API server returned it.
	result *unstructured.Unstructured
}

// newWrite takes a request apart. The path is /api/v1 or /apis/GROUP/VERSION,
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

// String is the write as a line of a test's log.
func (w *write) String() string {
	name := strings.Trim(w.namespace+"/"+w.name+"/"+w.subresource, "/")
	return fmt.Sprintf("%d. process %d: %s %s %s %s: %d", w.began, w.process, w.cluster, w.method, w.resource, name, w.code)
}

// is reports whether the write is one of a resource in a cluster, and has landed.
func (w *write) is(cluster, resource string) bool {
	return w.cluster == cluster && w.resource == resource && w.landed()
}

func (w *write) landed() bool { return w.code >= 200 && w.code < 300 }

// key tells the object from all others.
func (w *write) key() string {
	return strings.Join([]string{w.cluster, w.group, w.resource, w.namespace, w.name}, " ")
}

func (w *write) finalizers() []string {
	if w.result == nil {
		return nil
	}
	return w.result.GetFinalizers()
}

// history is what was written in a run, in the order in which it was sent.
type history []*write

// before are the writes that landed before one did. All that is written in a run is
// in one etcd, whose revisions tell, wherever an answer has one: an event about a
// write may well be faster than its answer. Of others it is said if they may have
// been before.
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

// revisions are those of etcd when the writes landed. Where an answer has none, it is
// that of the last write that was answered before this one was sent.
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

// of are the writes of one sort that have landed.
func (h history) of(cluster, resource string) history {
	return slices.DeleteFunc(slices.Clone(h), func(w *write) bool { return !w.is(cluster, resource) })
}

// named are those of an object with a name.
func (h history) named(name string) history {
	return slices.DeleteFunc(slices.Clone(h), func(w *write) bool { return w.name != name })
}

// unexpected are the writes from a place on that a process has no reason for which
// finds all done. A message that controller/networkstatus has held back for a while is left
// to the next process, and changes something.
func (h history) unexpected(from int) []string {
	found := h.unchanging(from)
	for _, one := range h[from:] {
		if !one.apply || one.resource != networks {
			found = append(found, one.String())
		}
	}
	return found
}

// last is the last write that returned the object, or nil.
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

// written is the history up to now.
func (w *world) written() history {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.history)
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
