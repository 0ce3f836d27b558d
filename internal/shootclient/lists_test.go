// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// A list of an API server that always has another page.
func TestAListWithoutEndIsEnded(t *testing.T) {
	g := NewWithT(t)
	var sent []metav1.ListOptions
	var until time.Time // of the list
	lister := toolscache.ToListerWatcherWithContext(Nodes.selecting(&toolscache.ListWatch{ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		deadline, limited := ctx.Deadline()
		g.Expect(limited).To(BeTrue())
		if len(sent) == 0 {
			until = deadline
		}
		g.Expect(deadline).To(Equal(until), "all pages share the time")
		g.Expect(time.Until(deadline)).To(BeNumerically("<=", listTimeout))
		sent = append(sent, options)
		return &metav1.PartialObjectMetadataList{}, nil
	}}, "", func(runtime.Object) error { return nil }))
	list := func() (err error) {
		sent = nil
		for next := ""; err == nil && len(sent) < 2*maxPages; next = "more" {
			_, err = lister.ListWithContext(t.Context(), metav1.ListOptions{Continue: next, ResourceVersion: "0"})
		}
		return err
	}
	for range 2 {
		g.Expect(list()).To(MatchError("the list has more than 200 pages of 50 objects"))
		g.Expect(sent).To(HaveLen(maxPages), "each list begins to count")
		g.Expect(sent[0]).To(Equal(metav1.ListOptions{Limit: pageSize}), "an API server ignores the limit of a list with the version 0")
	}
}

// The informers of such a shoot do not fill, and its owner is told so.
func TestAnInformerOfEndlessPagesTellsThatItIsNotFilled(t *testing.T) {
	var pages atomic.Int32
	h := newHostile(t, hostileAnswers{"/api/v1/configmaps": func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sendInitialEvents") {
			answerWith(422, status(422, "Invalid", "lists are not streamed here"))(w, r)
			return
		}
		answerWith(200, fmt.Sprintf(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1","continue":"%d"},"items":[]}`, pages.Add(1)))(w, r)
	}}, func(o *Options) { o.SyncTimeout = 2 * time.Second })
	h.Expect(h.shoot().Watch(h.ctx, configMaps)).To(MatchError(ContainSubstring("did not list its objects of kind ConfigMap")))
	h.Expect(pages.Load()).To(BeNumerically("<", 4*maxPages))
}
