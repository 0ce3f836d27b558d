// SPDX-License-Identifier: Apache-2.0

package shootclient

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trellis-network/trellis/internal/condition"
)

// A kubeconfig may lead to any server that the operator reaches. Its answers are its own.
func TestOnlyAStatusIsQuoted(t *testing.T) {
	const secret = "wJalrXUtnFEMI"
	text := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		told   string
	}{
		"an object without kind":       {answerWith(200, `{"key":"`+secret+`"}`), errNoAPIServer.Error()},
		"an object without version":    {answerWith(200, `{"kind":"`+secret+`"}`), errNoAPIServer.Error()},
		"kind in capitals":             {answerWith(200, `{"KIND":"`+secret+`","APIVERSION":"v1"}`), errNoAPIServer.Error()},
		"a list":                       {answerWith(200, `["`+secret+`"]`), errNoAPIServer.Error()},
		"a page":                       {text(200, "text/html", "<p>"+secret), errNoAPIServer.Error()},
		"a text as an error":           {text(500, "text/plain", secret), "an error on the server"},
		"a text as a refusal":          {text(403, "text/plain", secret), "unknown"},
		"JSON as an error":             {answerWith(500, `{"message":"`+secret+`"}`), "an error on the server"},
		"something with kind as error": {answerWith(500, `{"kind":"Secret","apiVersion":"v1","message":"`+secret+`"}`), "an error on the server"},
		"a Status":                     {answerWith(500, status(500, "InternalError", "the etcd is full")), "the etcd is full"},
		"protobuf":                     {text(200, "application/vnd.kubernetes.protobuf", "k8s\x00"+secret), errNoAPIServer.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, hostileAnswers{configMap("one"): test.answer})
			h.Expect(h.get("one")).To(MatchError(And(ContainSubstring(test.told), Not(ContainSubstring(secret)))))
		})
	}
}

// A webhook in a shoot may refuse with a message of megabytes.
func TestLongMessagesOfAShootAreCut(t *testing.T) {
	long := strings.Repeat("no ", 700_000)
	h := newHostile(t, hostileAnswers{configMap("one"): answerWith(403, status(403, "Forbidden", long))})
	err := h.get("one")
	h.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	h.Expect(len(err.Error())).To(BeNumerically("<=", condition.MaxMessage))
	h.Expect(err).To(MatchError(And(HavePrefix("no no no"), HaveSuffix("…"))))
}

// Errors are kept, so every text in them counts.
func TestEachTextOfAStatusIsCut(t *testing.T) {
	g, long := NewWithT(t), strings.Repeat("x", 1<<20)
	cause := metav1.StatusCause{Type: metav1.CauseType(long), Message: long, Field: long}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, ListMeta: metav1.ListMeta{Continue: long},
		Status: long, Message: long, Reason: metav1.StatusReason(long),
		Details: &metav1.StatusDetails{Name: long, Group: long, Kind: long, UID: types.UID(long), Causes: []metav1.StatusCause{cause}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(statusOf(body)).To(And(ContainSubstring(`"causes":[`), Not(BeEmpty())))
	g.Expect(len(statusOf(body))).To(BeNumerically("<", 11*condition.MaxMessage))
}

func TestOnlySomeCausesOfAStatusAreKept(t *testing.T) {
	g := NewWithT(t)
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Details: &metav1.StatusDetails{Causes: make([]metav1.StatusCause, 1000)},
	})
	g.Expect(err).NotTo(HaveOccurred())
	kept := &metav1.Status{}
	g.Expect(json.Unmarshal(statusOf(body), kept)).To(Succeed())
	g.Expect(kept.Details.Causes).To(HaveLen(maxCauses))
}

// Nor is the greeting of a server that is none of HTTP.
func TestWhatIsNoHTTPIsNotQuoted(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Write([]byte("SSH-2.0-internal\r\n"))
			_ = connection.Close()
		}
	}()
	secret := &onlySecret{kubeconfig: kubeconfigOf(`"server":"http://` + listener.Addr().String() + `"`)}
	clients := New(patient(secret, secret))
	defer clients.Close()
	_, err = clients.For(t.Context(), "shoot--tenant")
	g.Expect(err).To(MatchError(And(ContainSubstring("cannot be reached: "), Not(ContainSubstring("SSH")))))
}
