// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/internal/jsoncost"
)

// chunk is a megabyte of spaces, which JSON ignores.
var chunk = bytes.Repeat([]byte(" "), 1<<20)

// endless answers with JSON that has no end.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	h := newHostile(t, hostileAnswers{configMap("one"): endless})
	h.shoot()
	var err error
	h.Expect(allocated(func() { err = h.get("one") })).To(BeNumerically("<", 64<<20))
	h.Expect(err).To(MatchError(ContainSubstring("the answer has more than 4 MiB")))
}

// An endless error is no better.
func TestAnEndlessErrorIsCutOff(t *testing.T) {
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		endless(w, r)
	}})
	h.Expect(h.get("one")).To(MatchError(ContainSubstring("the answer has more than 4 MiB")))
}

func TestCompressedAnswersAreNotDecompressed(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	var asked http.Header
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Clone()
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}})
	h.shoot()
	var err error
	h.Expect(allocated(func() { err = h.get("one") })).To(BeNumerically("<", 8<<20))
	h.Expect(err).To(MatchError(ContainSubstring(errNoAPIServer.Error())))
	h.Expect(asked.Values("Accept-Encoding")).To(BeEmpty())
}

func TestLargeHeadersAreRefused(t *testing.T) {
	length := maxHeaders / 2
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", length))
		answerWith(200, `{"kind":"ConfigMap","apiVersion":"v1"}`)(w, r)
	}})
	h.Expect(h.get("one")).To(Succeed())
	length = 2 * maxHeaders
	h.Expect(h.get("one")).To(MatchError(ContainSubstring(errBroken.Error())))
}

// Two bytes of JSON may become a kilobyte when they are decoded.
func TestAnswersThatGrowWhenTheyAreDecodedAreRefused(t *testing.T) {
	const many = 1_000_000
	list := func(item string, n int) http.HandlerFunc {
		return answerWith(200, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`+strings.Repeat(item+",", n)+item+`]}`)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		told   string
	}{
		"empty objects":      {list("{}", many), jsoncost.ErrObjects.Error()},
		"more than one page": {list("{}", maxItems), errNoAPIServer.Error()},
		"many values":        {list(`{"metadata":{"finalizers":[`+strings.Repeat(`"",`, many)+`""]}}`, 0), jsoncost.ErrObjects.Error()},
		"lists in lists":     {list(`{"a":[`+strings.Repeat(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+",", 400)+`0]}`, 0), jsoncost.ErrObjects.Error()},
		"nulls":              {list(`{"a":[`+strings.Repeat("null,", 200_000)+`0]}`, 0), jsoncost.ErrObjects.Error()},
		"a slow number":      {list(`{"a":"1e-1000000000"}`, 0), jsoncost.ErrNumber.Error()},
		"a long number":      {list(`{"a":`+strings.Repeat("9", many)+`}`, 0), jsoncost.ErrNumber.Error()},
		"many causes": {answerWith(500, `{"kind":"Status","apiVersion":"v1","details":{"causes":[`+strings.Repeat(`{},`, many)+`{}]}}`),
			jsoncost.ErrObjects.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, hostileAnswers{"/api/v1/configmaps": test.answer})
			shoot, err := h.shoot(), error(nil)
			_, _ = shoot.Client.RESTMapper().RESTMapping(configMaps.GroupKind())
			h.Expect(allocated(func() { err = shoot.Failure(shoot.Client.List(h.ctx, &corev1.ConfigMapList{})) })).To(BeNumerically("<", 64<<20))
			h.Expect(err).To(MatchError(ContainSubstring(test.told)))
		})
	}
}

// All answers of one shoot that are read at the same time share a limit.
func TestManyLargeAnswersAtOnceAreRefused(t *testing.T) {
	const requests = 8
	var sent atomic.Int32
	all := make(chan struct{})
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range maxAnswer>>20 - 1 {
			_, _ = w.Write(chunk)
		}
		if sent.Add(1) == requests {
			close(all)
		}
		select { // until all have sent nearly as much as one may
		case <-all:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `{"kind":"ConfigMap","apiVersion":"v1"}`)
	}})
	shoot := h.shoot()
	_, err := shoot.Client.RESTMapper().RESTMapping(configMaps.GroupKind())
	h.Expect(err).NotTo(HaveOccurred())
	errs := make(chan error, requests)
	for range requests {
		go func() {
			errs <- shoot.Client.Get(h.ctx, client.ObjectKey{Namespace: "kube-system", Name: "one"}, &corev1.ConfigMap{})
		}()
	}
	refused := 0
	for range requests {
		if err := <-errs; err != nil {
			h.Expect(err).To(MatchError(ContainSubstring("together have more than 8 MiB")))
			refused++
		}
	}
	h.Expect(refused).To(BeNumerically(">=", requests-2))
	h.Expect(shoot.connection.state.next.(*limits).reading.Load()).To(BeZero(), "what was read is given back")
}

// Kinds stay in memory for as long as a shoot is open.
func TestAShootMayListOnlySoManyKinds(t *testing.T) {
	spaces := func(n int) string { return strings.Repeat(" ", n) }
	for name, test := range map[string]struct{ path, answer, told string }{
		"a long list of groups": {"/apis", spaces(maxGroups) + usual["/apis"], "the answer has more than 2 MiB"},
		"a long list of kinds":  {"/api/v1", spaces(maxKinds) + usual["/api/v1"], "the answer has more than 0.5 MiB"},
		"many kinds": {"/api/v1", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` + strings.Repeat(`{"name":"x"},`, 20_000) + `{"name":"last"}]}`,
			errTooLarge.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, hostileAnswers{test.path: answerWith(200, test.answer)})
			h.Expect(h.get("one")).To(MatchError(ContainSubstring(test.told)))
		})
	}
}

// A kind that the shoot does not have is asked for again and again.
func TestAListOfKindsCountsWhenItHasChanged(t *testing.T) {
	g, l := NewWithT(t), &limits{cached: &atomic.Int64{}}
	for range 1000 {
		g.Expect(l.admitKinds("/apis", []byte(usual["/apis"]))).To(BeTrue())
		g.Expect(l.admitKinds("/apis/apps/v1", []byte(usual["/apis/apps/v1"]))).To(BeTrue())
	}
	g.Expect(l.cached.Load()).To(BeNumerically("<", 10*kindOverhead))
	for i := 0; l.admitKinds("/apis", fmt.Appendf(nil, "{%d}", i)); i++ {
		g.Expect(i).To(BeNumerically("<", maxCached))
	}
}

// The metrics of client-go have each code that was answered.
func TestCodesThatNoAPIServerHasAreRefused(t *testing.T) {
	h := newHostile(t, hostileAnswers{configMap("one"): answerWith(799, `{"kind":"ConfigMap","apiVersion":"v1"}`)})
	h.Expect(h.get("one")).To(MatchError(ContainSubstring(errNoAPIServer.Error())))
}

// Where an answer is said to be YAML, JSON takes many times as long to decode. YAML has no surrogates.
func TestAnswersAreDecodedAsJSON(t *testing.T) {
	h := newHostile(t, hostileAnswers{configMap("one"): func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = io.WriteString(w, `{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"\ud83d\ude00"}}`)
	}})
	h.Expect(h.get("one")).To(Succeed())
}
