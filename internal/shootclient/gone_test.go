// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Whether an object is gone decides whether a network counts as deleted. Only an API server
// knows.
func TestGoneIsBelievedOnlyFromAnAPIServer(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<h1>default backend - 404</h1>"))
	}
	notFound := answerWith(404, status(404, "NotFound", `"one" not found`))
	daemonSet, widget := schema.FromAPIVersionAndKind("apps/v1", "DaemonSet"), schema.FromAPIVersionAndKind("example.org/v1", "Widget")
	const ofDaemonSet, ofWidget = "/apis/apps/v1/namespaces/kube-system/daemonsets/one", "/apis/example.org/v1/namespaces/kube-system/widgets/one"
	none := answerWith(200, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"other.org","versions":[]}]}`)
	withoutKinds := answerWith(200, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.org/v1","resources":[]}`)
	withoutVersion := answerWith(200, `{}`)
	for name, test := range map[string]struct {
		answers hostileAnswers
		kind    schema.GroupVersionKind
		// later are the answers once the kinds are known.
		later hostileAnswers
		gone  bool
	}{
		"a Status":                          {hostileAnswers{ofDaemonSet: notFound}, daemonSet, nil, true},
		"a page":                            {hostileAnswers{ofDaemonSet: page}, daemonSet, nil, false},
		"a page for everything":             {nil, daemonSet, hostileAnswers{"/version": page, "/api": page, "/apis": page, "/apis/apps/v1": page, ofDaemonSet: page}, false},
		"a Status without a version":        {hostileAnswers{"/version": withoutVersion, ofDaemonSet: notFound}, daemonSet, nil, false},
		"a version that came late":          {hostileAnswers{"/version": answerWith(500, status(500, "InternalError", "starting")), ofDaemonSet: notFound}, daemonSet, hostileAnswers{"/version": answerWith(200, `{"gitVersion":"v1.36.3"}`)}, true},
		"a Status where it is forbidden":    {hostileAnswers{"/version": answerWith(403, status(403, "Forbidden", "no")), ofDaemonSet: notFound}, daemonSet, nil, true},
		"no built-in group":                 {hostileAnswers{"/apis": none, "/apis/apps/v1": page}, daemonSet, nil, false},
		"no custom group":                   {hostileAnswers{"/apis": none, "/apis/example.org/v1": page}, widget, nil, true},
		"a custom kind that went":           {hostileAnswers{ofWidget: page}, widget, hostileAnswers{"/apis/example.org/v1": withoutKinds}, true},
		"a custom kind that is still there": {hostileAnswers{ofWidget: page}, widget, nil, false},
		"a custom group that went":          {hostileAnswers{ofWidget: page}, widget, hostileAnswers{"/apis": none, "/apis/example.org/v1": page}, true},
		"an error":                          {hostileAnswers{ofWidget: answerWith(500, status(500, "InternalError", "no"))}, widget, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, test.answers)
			shoot := h.shoot()
			_, _ = shoot.Client.RESTMapper().RESTMapping(test.kind.GroupKind(), test.kind.Version)
			for path, answer := range test.later {
				h.answers.Set(path, answer)
			}
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(test.kind)
			err := shoot.Client.Get(h.ctx, types.NamespacedName{Namespace: "kube-system", Name: "one"}, object)
			h.Expect(err).To(HaveOccurred())
			err = shoot.UnlessGone(test.kind.GroupKind(), err)
			h.Expect(err == nil).To(Equal(test.gone), "%v", err)
			if err != nil {
				h.Expect(err).NotTo(MatchError(ContainSubstring("default backend")))
			}
		})
	}
}

// A kubeconfig that leads to a proxy or a web server is an error at once.
func TestWhatIsNoAPIServerIsNotConnectedTo(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<p>hello")) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, hostileAnswers{"/version": answer})
			_, err := h.clients.For(h.ctx, "shoot--tenant")
			h.Expect(errors.As(err, new(*UnreachableError))).To(BeTrue())
			h.Expect(err).To(MatchError(HaveSuffix("GET /version: " + errNoAPIServer.Error())))
		})
	}
}
