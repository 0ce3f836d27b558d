// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
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
		After: corev1beta1.LastOperation{
			Type: corev1beta1.LastOperationTypeReconcile, State: corev1beta1.LastOperationStateProcessing, Description: "Reconciling the Network",
		},
		Duration: 1234567 * time.Microsecond,
	}
	transition.Log(logger)
	transition.Before = transition.After
	transition.After.Description = "Still reconciling the Network"
	transition.Log(logger)
	transition.After.State, transition.After.Description = corev1beta1.LastOperationStateError, "Error reconciling Network: broken"
	transition.Log(logger)

	const same = `"level"=0 "msg"="Network changed state" "network"="shoot--dev--one/one" "type"="example" "operation"="Reconcile" `
	g.Expect(lines).To(Equal([]string{
		same + `"state"="Processing" "message"="Reconciling the Network" "duration"="1.235s"`,
		same + `"state"="Error" "message"="Error reconciling Network: broken" "duration"="1.235s"`,
	}))
}
