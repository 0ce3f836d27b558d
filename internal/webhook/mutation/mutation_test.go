// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/internal/webhook/mutation"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/exampleplugin"
)

type exampleConfig struct {
	metav1.TypeMeta `json:",inline"`
}

// example adds a tail to every object. For some names it returns an error, panics, or makes
// an object that cannot be encoded.
type example struct {
	exampleplugin.Example[exampleConfig]
}

func (example) Mutate(object *unstructured.Unstructured) (bool, error) {
	switch object.GetName() {
	case "refused":
		return false, errors.New("metadata.name: Invalid value: \"refused\": choose another")
	case "panics":
		panic("example")
	case "unencodable":
		object.Object["tail"] = make(chan int)
		return true, nil
	}
	if object.Object["tail"] != nil {
		return false, nil
	}
	object.Object["tail"] = "long"
	return true, nil
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	m.Run()
}

// ask sends a request as an API server does, and returns the answer.
func ask(t *testing.T, body string) *admissionv1.AdmissionReview {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, mutation.Path("example"), strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	mutation.Handler(plugin.New(example{})).ServeHTTP(recorder, request)
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(recorder.Body.Bytes(), review); err != nil || review.Response == nil {
		t.Fatalf("no answer: %v\n%s", err, recorder.Body)
	}
	return review
}

func reviewOf(version, operation, object string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/%s","kind":"AdmissionReview","request":{"uid":"u-1","operation":%q,"object":%s}}`,
		version, operation, object)
}

func TestObjectsAreMutated(t *testing.T) {
	contract.Shows(t, "W3")
	const plain = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"},"weight":12345678901234567}`
	for name, test := range map[string]struct{ review, patch string }{
		"created":                {reviewOf("v1", "CREATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"updated":                {reviewOf("v1", "UPDATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"of an older API server": {reviewOf("v1beta1", "CREATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"already so":             {reviewOf("v1", "UPDATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"},"tail":"short"}`), ""},
		"being deleted":          {reviewOf("v1", "UPDATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"refused","deletionTimestamp":"2026-01-01T00:00:00Z"}}`), ""},
		"deleted":                {reviewOf("v1", "DELETE", "null"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(t, test.review)
			g.Expect(answer.Response.Allowed).To(BeTrue(), "%v", answer.Response.Result)
			g.Expect(string(answer.Response.UID)).To(Equal("u-1"))
			if test.patch == "" {
				g.Expect(answer.Response.Patch).To(BeEmpty())
			} else {
				g.Expect(answer.Response.Patch).To(MatchJSON(test.patch))
				g.Expect(*answer.Response.PatchType).To(Equal(admissionv1.PatchTypeJSONPatch))
			}
			g.Expect(answer.APIVersion).To(Equal("admission.k8s.io/" + strings.Split(test.review[32:], `"`)[0]))
		})
	}
}

// Each request gets an answer that states what is wrong, and the server continues.
func TestObjectsThatCannotBeMutatedAreRefused(t *testing.T) {
	contract.Shows(t, "W3")
	named := func(name string) string {
		return reviewOf("v1", "CREATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
	}
	for name, test := range map[string]struct{ review, want string }{
		"by the plugin":           {named("refused"), `the example network must change the ConfigMap refused, and cannot: metadata.name: Invalid value: "refused": choose another`},
		"by a panic":              {named("panics"), "the example plugin panicked at mutation_test.go:"},
		"for what comes of it":    {named("unencodable"), "cannot be encoded"},
		"nothing":                 {"", `the operation ""`},
		"no review":               {"example", "json"},
		"a review of nothing":     {reviewOf("v1", "CREATE", "null"), "the object cannot be decoded"},
		"a review without kind":   {reviewOf("v1", "CREATE", `{"metadata":{"name":"example"}}`), "the object cannot be decoded"},
		"a list":                  {reviewOf("v1", "CREATE", "[1]"), "the object cannot be decoded"},
		"another kind of message": {`{"apiVersion":"v1","kind":"ConfigMap"}`, `the operation ""`},
		"more than there can be":  {reviewOf("v1", "CREATE", `"`+strings.Repeat("x", 8<<20)+`"`), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(t, test.review)
			g.Expect(answer.Response.Allowed).To(BeFalse())
			g.Expect(answer.Response.Result.Message).To(ContainSubstring(test.want))
			g.Expect(answer.Response.Patch).To(BeEmpty())
		})
	}
}

func FuzzReviews(f *testing.F) {
	f.Add([]byte(reviewOf("v1", "CREATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"example"}}`)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`))
	handler := mutation.Handler(plugin.New(example{}))
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest(http.MethodPost, mutation.Path("example"), bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if !json.Valid(recorder.Body.Bytes()) {
			t.Errorf("answered %q", recorder.Body)
		}
	})
}

func TestLinesAboutRequestsNameTheWebhook(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	mutation.Handler(plugin.New(example{})).(*admission.Webhook).LogConstructor(logger, nil).Info("said")
	NewWithT(t).Expect(lines).To(ConsistOf(ContainSubstring(`"webhook"="example"`)))
}
