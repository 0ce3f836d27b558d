// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// agent is a pod on a node that was made some minutes ago, and got ready some minutes
// ago, or is not.
func agent(now time.Time, node string, made int, ready int) corev1.Pod {
	ago := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)) }
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, CreationTimestamp: ago(made)}, Spec: corev1.PodSpec{NodeName: node}}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(made)}
	if ready != unready {
		condition.Status, condition.LastTransitionTime = corev1.ConditionTrue, ago(ready)
	}
	pod.Status.Conditions = []corev1.PodCondition{condition}
	return pod
}

const unready = -1

func TestARollOutIsHeldUpByNodesWhereNothingHappens(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	going := func(pod corev1.Pod, minutes int) corev1.Pod {
		// The API server notes the end of the time that the pod has, not its begin.
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(30*time.Second - time.Duration(minutes)*time.Minute)))
		pod.DeletionGracePeriodSeconds = ptr.To(int64(30))
		return pod
	}
	homeless := agent(now, "", 20, unready)
	homeless.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Values: []string{"full"}}}}},
	}}}
	var many []corev1.Pod
	for i := range 7 {
		many = append(many, agent(now, fmt.Sprint("n", i), 11, unready))
	}
	const stalled = "the roll-out has made no progress for more than 10 minutes"
	for name, test := range map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"no pods":                        {nil, ""},
		"one pod is not ready":           {[]corev1.Pod{agent(now, "a", 11, unready), agent(now, "b", 60, 59)}, stalled + " because of node a"},
		"two are not":                    {[]corev1.Pod{agent(now, "b", 11, unready), agent(now, "a", 12, unready)}, stalled + " because of nodes a, b"},
		"many are not":                   {many, stalled + " because of nodes n0, n1, n2, n3, n4 and 2 more"},
		"one was made a while ago":       {[]corev1.Pod{agent(now, "a", 9, unready), agent(now, "b", 60, 59)}, ""},
		"one got ready just now":         {[]corev1.Pod{agent(now, "a", 20, unready), agent(now, "b", 15, 1)}, ""},
		"one does not go":                {[]corev1.Pod{going(agent(now, "a", 60, 59), 11), agent(now, "b", 60, 59)}, stalled + " because of node a"},
		"one goes":                       {[]corev1.Pod{going(agent(now, "a", 60, 59), 2), agent(now, "b", 60, 59)}, ""},
		"one finds no place":             {[]corev1.Pod{homeless}, stalled + " because of node full"},
		"nobody replaces pods":           {[]corev1.Pod{agent(now, "a", 60, 59)}, stalled + ", although all pods are ready: nobody replaces them"},
		"a pod of which little is known": {[]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "agent-x"}}}, stalled + " because of node that pod agent-x waits for"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(holdUp(test.pods, int32(len(test.pods)), now)).To(Equal(test.want))
		})
	}
}

func TestARollOutMayWaitForPodsThatCannotBeMade(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	pods := []corev1.Pod{agent(now, "a", 60, 59)}
	NewWithT(t).Expect(holdUp(pods, 2, now)).To(HaveSuffix("10 minutes"))
}
