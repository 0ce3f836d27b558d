// SPDX-License-Identifier: Apache-2.0

package connectivity

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
)

// An operator that starts writes nothing while nothing has changed, whatever the nodes' clocks state.
func TestARestartOfTheOperatorTurnsNothing(t *testing.T) {
	for name, happens := range map[string]func(w *world){
		"True":         func(*world) {},
		"True of both": func(w *world) { w.dual = true },
		"False":        func(w *world) { w.cut["worker-000"] = true },
		"Unknown":      func(w *world) { w.broken = true },
	} {
		for _, skew := range []time.Duration{0, -100 * time.Second, -3 * time.Minute, -5 * time.Hour, time.Hour} {
			for _, nodes := range []int{2, 10} {
				t.Run(fmt.Sprintf("%s, clocks are %v ahead, %d nodes", name, skew, nodes), func(t *testing.T) {
					t.Parallel()
					for seed := range uint64(4) {
						g, w := NewWithT(t), newWorld(seed, nodes)
						w.skew = skew
						w.pass(5 * time.Minute)
						g.Expect(shown(w.published.verdict)).To(Equal(allPass))
						happens(w)
						w.pass(4*time.Minute + time.Duration(w.random.IntN(30))*time.Second)
						g.Expect(w.published.verdict.Status).To(BeEquivalentTo(name[:len(w.published.verdict.Status)]), w.published.verdict.Message)
						before := shown(w.published.verdict)
						w.writes = nil
						w.restart()
						w.pass(15 * time.Second)
						w.restart()
						for range 20 {
							w.pass(time.Second)
							g.Expect(shown(w.verdict)).To(Equal(before), w.verdict.Message)
						}
						if name == "False" { // until the node is gone
							w.pass(10 * time.Second)
						} else {
							w.pass(10 * time.Minute)
						}
						g.Expect(shown(w.published.verdict)).To(Equal(before))
						g.Expect(w.writes).To(BeEmpty(), w.published.verdict.Message)
					}
				})
			}
		}
	}
}

// What has changed meanwhile is told as soon as without a restart.
func TestWhatChangesDuringARestartIsToldInTime(t *testing.T) {
	for _, skew := range []time.Duration{0, -5 * time.Hour} {
		g, w := NewWithT(t), newWorld(1, 5)
		w.skew = skew
		w.pass(5 * time.Minute)
		w.cut["worker-000"] = true
		w.pass(20 * time.Second)
		w.restart()
		took, ok := w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionFalse }, ofANode)
		g.Expect(ok).To(BeTrue(), w.verdict.Message)
		t.Logf("clocks %v ahead: False %v after the restart", skew, took)
		w.cut = map[string]bool{}
		w.restart()
		_, ok = w.until(func(v Verdict) bool { return shown(v) == allPass }, repair)
		g.Expect(ok).To(BeTrue(), w.verdict.Message)
		w.broken = true
		w.restart()
		_, ok = w.until(func(v Verdict) bool { return v.Status == corev1beta1.ConditionUnknown }, 4*time.Minute)
		g.Expect(ok).To(BeTrue(), w.verdict.Message)
	}
}

func TestAStatusThatTrellisDidNotWriteIsNoPanic(t *testing.T) {
	g := NewWithT(t)
	for _, raw := range []string{"", "[]", "nonsense", `{"connectivityTests":3}`, `{"connectivityTests":{"pods":true}}`, `{"connectivityTests":{"families":{"IPv5":{"pods":false}}}}`} {
		network := &extensionsv1alpha1.Network{}
		network.Status.Conditions = []corev1beta1.Condition{{Type: extensionsv1alpha1.PodNetworkAvailable, Status: "True"}}
		network.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(raw)}
		r := restore(network, noon)
		v, _ := Examine(Evidence{Nodes: oldNodes("one")}, r.memory, noon)
		g.Expect(func() { r.published, _ = r.published.next(v, noon) }).NotTo(Panic())
		g.Expect(r.published.verdict.Status).NotTo(BeEmpty())
	}
}
