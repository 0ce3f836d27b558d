// SPDX-License-Identifier: Apache-2.0

package adaptation_test

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
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trellis-network/trellis/internal/webhook/adaptation"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/contract"
)

type kiteConfig struct {
	metav1.TypeMeta `json:",inline"`
}

// kite wants every object to have a tail. It refuses knots, and panics where it meets
// scissors.
type kite struct{}

func (kite) Describe() plugin.Description {
	return plugin.Description{Type: "kite", ConfigVersions: []schema.GroupVersion{{Group: "kite.example.org", Version: "v1"}}}
}
func (kite) Validate(*kiteConfig, *plugin.Input, *field.Path) (found plugin.Findings) { return found }
func (kite) Default(*kiteConfig, *plugin.Input, *plugin.Origins)                      {}
func (kite) ValidateEffective(_, _ *kiteConfig, _ *plugin.Input, _ *field.Path) (found plugin.Findings) {
	return found
}
func (kite) Classify(plugin.Change[kiteConfig]) (plugin.ChangeClass, string) { return "", "" }
func (kite) Render(*kiteConfig, *plugin.Input) (o plugin.Objects, err error) { return o, nil }

func (kite) Mutate(object *unstructured.Unstructured) (bool, error) {
	switch object.GetName() {
	case "knot":
		return false, errors.New("metadata.name: Invalid value: \"knot\": untie it")
	case "scissors":
		panic("cut")
	case "endless":
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

// ask sends what an API server would, and returns the answer.
func ask(t *testing.T, body string) *admissionv1.AdmissionReview {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, adaptation.Path("kite"), strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	adaptation.Handler(plugin.New(kite{})).ServeHTTP(recorder, request)
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

func TestObjectsAreAdapted(t *testing.T) {
	contract.Shows(t, "W3")
	const plain = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kite"},"weight":12345678901234567}`
	for name, test := range map[string]struct{ review, patch string }{
		"created":                {reviewOf("v1", "CREATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"updated":                {reviewOf("v1", "UPDATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"of an older API server": {reviewOf("v1beta1", "CREATE", plain), `[{"op":"add","path":"/tail","value":"long"}]`},
		"already so":             {reviewOf("v1", "UPDATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kite"},"tail":"short"}`), ""},
		"being deleted":          {reviewOf("v1", "UPDATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"knot","deletionTimestamp":"2026-01-01T00:00:00Z"}}`), ""},
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

// Whatever comes, there is an answer that tells what is wrong, and the server lives.
func TestWhatCannotBeAdaptedIsRefused(t *testing.T) {
	contract.Shows(t, "W3")
	named := func(name string) string {
		return reviewOf("v1", "CREATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"}}`)
	}
	for name, test := range map[string]struct{ review, want string }{
		"by the plugin":           {named("knot"), `the kite network needs ConfigMap knot to be otherwise, and cannot change it: metadata.name: Invalid value: "knot": untie it`},
		"by a panic":              {named("scissors"), "the kite plugin panicked at adaptation_test.go:"},
		"for what comes of it":    {named("endless"), "cannot be encoded"},
		"nothing":                 {"", `the operation ""`},
		"no review":               {"kite", "json"},
		"a review of nothing":     {reviewOf("v1", "CREATE", "null"), "the object cannot be decoded"},
		"a review without kind":   {reviewOf("v1", "CREATE", `{"metadata":{"name":"kite"}}`), "the object cannot be decoded"},
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
	f.Add([]byte(reviewOf("v1", "CREATE", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kite"}}`)))
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`))
	handler := adaptation.Handler(plugin.New(kite{}))
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest(http.MethodPost, adaptation.Path("kite"), bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if !json.Valid(recorder.Body.Bytes()) {
			t.Errorf("answered %q", recorder.Body)
		}
	})
}
