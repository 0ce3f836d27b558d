// SPDX-License-Identifier: Apache-2.0

package components

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trellis-network/trellis/internal/shootclient"
)

func TestOnlyLastingFaultsOfNodesThatStayAreNamed(t *testing.T) {
	now := time.Now()
	node := func(name string, status corev1.ConditionStatus, lasting time.Duration, change ...func(*corev1.Node)) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeNetworkUnavailable, Status: status, Reason: "CalicoIsDown", LastTransitionTime: metav1.NewTime(now.Add(-lasting)),
		}}
		for _, c := range change {
			c(&n)
		}
		return n
	}
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	talkative := func(n *corev1.Node) { n.Status.Conditions[0].Reason = strings.Repeat("x", 1000) }
	for name, test := range map[string]struct {
		nodes []corev1.Node
		told  string
	}{
		"well":      {[]corev1.Node{node("a", corev1.ConditionFalse, time.Hour), {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}, ""},
		"new":       {[]corev1.Node{node("a", corev1.ConditionTrue, nodeGrace-time.Second)}, ""},
		"cordoned":  {[]corev1.Node{node("a", corev1.ConditionTrue, time.Hour, cordoned)}, ""},
		"one":       {[]corev1.Node{node("a", corev1.ConditionTrue, nodeGrace)}, "True: a (CalicoIsDown); the"},
		"talkative": {[]corev1.Node{node("a", corev1.ConditionTrue, nodeGrace, talkative)}, "True: a (" + strings.Repeat("x", maxReason) + "); the"},
		"many": {[]corev1.Node{
			node("d", corev1.ConditionTrue, time.Hour), node("c", corev1.ConditionTrue, time.Hour), node("b", corev1.ConditionTrue, time.Hour), node("a", corev1.ConditionTrue, time.Hour),
		}, "True: a (CalicoIsDown), b (CalicoIsDown), c (CalicoIsDown) and 1 more; the"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			shoot := &shootclient.Shoot{Reader: fake.NewClientBuilder().WithLists(&corev1.NodeList{Items: test.nodes}).Build()}
			seen := check(t.Context(), shoot, nil, &explainer{now: now})
			if test.told == "" {
				g.Expect(seen.result).To(Equal(healthy))
			} else {
				g.Expect(seen.result).To(Equal(unhealthy))
				g.Expect(seen.message).To(ContainSubstring(test.told))
			}
		})
	}
}
