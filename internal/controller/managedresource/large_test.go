// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
)

// What a shoot answers may be of any length. The condition has the beginning, and what the log
// gets is not longer.
func TestALongAnswerIsCut(t *testing.T) {
	e := newEnv(t)
	e.state("network", e.configMap("one", "a", "b"))
	e.operator()
	e.becomesGood("network")
	long := errors.New(strings.Repeat("no ", 700_000))
	e.refuse(func(cluster string, request *http.Request) error {
		if cluster == "shoot" && request.Method == http.MethodPatch {
			return long
		}
		return nil
	})
	e.state("network", e.configMap("one", "a", "c"))
	e.Eventually(e.conditions("network")).Should(HaveKeyWithValue("ResourcesApplied", "False ApplyFailed"))
	for _, message := range []string{e.message("network", "ResourcesApplied")(), failed(reasonApplyFailed, long).Err().Error()} {
		e.Expect(len(message)).To(And(BeNumerically("<=", condition.MaxMessage), BeNumerically(">", condition.MaxMessage-4)))
		e.Expect(strings.HasSuffix(message, "…")).To(BeTrue())
	}
}

// The inventory has the annotations of all objects. One that does not fit into a status is
// reported, and nothing of it is applied.
func TestAnInventoryThatIsTooLargeIsReported(t *testing.T) {
	e := newEnv(t)
	var large []client.Object
	for i := range 10 {
		each := e.configMap(fmt.Sprintf("large-%d", i))
		each.Annotations = map[string]string{"long": strings.Repeat("x", 250_000)}
		large = append(large, each)
	}
	var compressed bytes.Buffer
	writer := brotli.NewWriter(&compressed)
	_, err := writer.Write(e.encode(large...))
	e.Expect(errors.Join(err, writer.Close())).To(Succeed())
	e.state("network", e.configMap("one"))
	e.operator()
	e.becomesGood("network")

	e.stateData("network", map[string][]byte{"objects.json.br": compressed.Bytes()})
	e.Eventually(e.message("network", "ResourcesApplied")).Should(HavePrefix("the inventory of 10 objects, with their labels and annotations, is larger than a status may be"))
	e.Expect(e.exists(large[0])()).To(BeFalse())
	e.Expect(e.get("network").Status.Resources).To(HaveLen(1), "what is there must not be forgotten")
	e.state("network", e.configMap("one"))
	e.becomesGood("network")
}

// smallSeed refuses a status with a message of more than shortMessage bytes.
type smallSeed struct {
	client.Client
	status smallStatus
}

func (s smallSeed) Status() client.SubResourceWriter { return s.status }

type smallStatus struct {
	client.SubResourceWriter
	refusal metav1.Status
}

func (s smallStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	if len(object.(*resourcesv1alpha1.ManagedResource).Status.Conditions[0].Message) > shortMessage {
		return &apierrors.StatusError{ErrStatus: s.refusal}
	}
	return nil
}

// A status that is too large for its messages is written with short ones. The API server
// passes on what its storage answers.
func TestMessagesThatDoNotFitAreWrittenShort(t *testing.T) {
	for _, refusal := range []metav1.Status{
		{Code: http.StatusInternalServerError, Message: "etcdserver: request is too large"},
		{Code: http.StatusInternalServerError, Message: "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097212 vs. 2097152)"},
		{Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge},
	} {
		g := NewWithT(t)
		mr := &resourcesv1alpha1.ManagedResource{}
		r := &run{mr: mr, stored: mr.DeepCopy(), clock: clock.RealClock{}}
		r.setCondition(resourcesv1alpha1.ResourcesApplied, corev1beta1.ConditionFalse, reasonApplyFailed, strings.Repeat("x", 3000))
		g.Expect(writer{smallSeed{status: smallStatus{refusal: refusal}}}.writeStatus(t.Context(), r)).To(Succeed())
		g.Expect(r.stored.Status.Conditions[0].Message).To(HaveLen(shortMessage))
	}
}
