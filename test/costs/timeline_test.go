// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// timeline records when requests were on their way, watches left out.
type timeline struct {
	mutex sync.Mutex
	since time.Time
	kinds []*sameRequests
}

// sameRequests are those with the same method and resource.
type sameRequests struct {
	name         string
	number       int
	from, to, of time.Duration
}

// begin forgets what was recorded.
func (t *timeline) begin() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.since, t.kinds = time.Now(), nil
}

// handle returns a handler that records what it hands on.
func (t *timeline) handle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		next.ServeHTTP(w, r)
		if r.URL.Query().Get("watch") == "" {
			t.add(nameOf(r), began, time.Now())
		}
	})
}

// nameOf returns the method and the resource of a request.
func nameOf(r *http.Request) string {
	resource := r.URL.Path
	if r.Method != http.MethodGet { // of one object
		resource = path.Dir(resource)
	}
	return r.Method + " " + path.Base(resource)
}

func (t *timeline) add(name string, began, ended time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	i := slices.IndexFunc(t.kinds, func(each *sameRequests) bool { return each.name == name })
	if i < 0 {
		i, t.kinds = len(t.kinds), append(t.kinds, &sameRequests{name: name, from: began.Sub(t.since)})
	}
	of := t.kinds[i]
	of.number++
	of.from, of.to, of.of = min(of.from, began.Sub(t.since)), max(of.to, ended.Sub(t.since)), of.of+ended.Sub(began)
}

// print prints what was recorded, the earliest first.
func (t *timeline) print(title string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	slices.SortFunc(t.kinds, func(a, b *sameRequests) int { return int(a.from - b.from) })
	result := newTable(title, "", "requests", "first begins at", "last ends at", "each takes")
	for _, each := range t.kinds {
		result.row(each.name, fmt.Sprint(each.number), ms(each.from), ms(each.to), ms(each.of/time.Duration(each.number)))
	}
	_ = result.Flush()
}

// BenchmarkTimeline prints what a first apply of Calico's objects consists of, by an operator that has just started and by
// one that has done so before.
func BenchmarkTimeline(b *testing.B) {
	seed, shoot := forResourceManager.Seed(b), forResourceManager.Shoot(b)
	content, _ := calico(b)
	t := &tenants{NewWithT(b), b, seed, shoot, content}
	const namespace = "shoot--costs--timeline"
	recorded := &timeline{}
	t.add(namespace, front(b, shoot, recorded.handle, func(*httputil.ReverseProxy) {}))
	start(b, forResourceManager.Shared.Get(b).Seed.Kubeconfig, "mode: Standalone\n")
	for _, name := range []string{"cold, which the API server is as well", "warm"} {
		<-time.After(settled)
		recorded.begin()
		began := time.Now()
		t.apply(namespace)
		recorded.print(fmt.Sprintf("First apply, %s: %s in all", name, seconds(time.Since(began))))
		<-time.After(settled)
		t.remove(namespace)
	}
	b.ReportMetric(0, "ns/op")
}
