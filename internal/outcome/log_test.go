// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/internal/outcome"
)

func TestATransitionIsOneLineWithAllKeys(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	transition := outcome.Transition{
		Network: types.NamespacedName{Namespace: "shoot--dev--one", Name: "one"}, Type: "example",
		Operation: corev1beta1.LastOperationTypeReconcile, State: corev1beta1.LastOperationStateProcessing,
		Outcome: outcome.Wait("the nodes are ready", time.Minute), Duration: 1234567 * time.Microsecond,
	}
	transition.Log(logger)
	transition.State, transition.Outcome = corev1beta1.LastOperationStateError, outcome.Fail(errors.New("the config is broken"))
	transition.Log(logger)

	const same = `"level"=0 "msg"="Network changed state" "network"="shoot--dev--one/one" "type"="example" "operation"="Reconcile" `
	g.Expect(lines).To(Equal([]string{
		same + `"state"="Processing" "outcome"="waiting" "reason"="the nodes are ready" "duration"="1.235s"`,
		same + `"state"="Error" "outcome"="terminal" "reason"="the config is broken" "duration"="1.235s"`,
	}))
}
