// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/contract"
)

func daemonSetWith(maxUnavailable intstr.IntOrString, status appsv1.DaemonSetStatus) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type:          appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &maxUnavailable},
		}},
		Status: status,
	}
}

func deploymentWith(replicas int32, status appsv1.DeploymentStatus, conditions ...string) *appsv1.Deployment {
	status.ObservedGeneration = 1
	for i := 0; i < len(conditions); i += 3 {
		status.Conditions = append(status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentConditionType(conditions[i]), Status: corev1.ConditionStatus(conditions[i+1]),
			Reason: conditions[i+2], Message: "the reason",
		})
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}, Status: status,
	}
}

// When an object is healthy, and when it progresses.
func TestHealthRules(t *testing.T) {
	contract.Shows(t, "R21", "R23")
	one, third := intstr.FromInt32(1), intstr.FromString("34%")
	for name, c := range map[string]struct {
		object                 client.Object
		unhealthy, progressing string
	}{
		"DaemonSet, all is well": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3})},
		"DaemonSet without nodes": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2})},
		"DaemonSet, not observed": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 1}),
			unhealthy:   "has not been observed by its controller yet (generation 2, observed 1)",
			progressing: "has not been observed by its controller yet (generation 2, observed 1)"},
		"DaemonSet, pods missing": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 3, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2}),
			unhealthy: "has pods on 2 of 3 nodes", progressing: "has 2 of 3 pods updated"},
		"DaemonSet, pods in the wrong place": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2, NumberMisscheduled: 1}),
			unhealthy: "has pods on 1 nodes where none should run"},
		"DaemonSet rolling out within its limit": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 1, NumberUnavailable: 1}),
			progressing: "has 1 of 3 pods updated"},
		"DaemonSet rolling out beyond its limit": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 1, NumberUnavailable: 2}),
			unhealthy: "has 2 of 3 pods unavailable (1 may be)", progressing: "has 1 of 3 pods updated"},
		"DaemonSet, a percentage is rounded down": {object: daemonSetWith(third, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 1, NumberUnavailable: 2}),
			unhealthy: "has 2 of 5 pods unavailable (1 may be)", progressing: "has 1 of 5 pods updated"},
		"DaemonSet, unavailable after the roll-out": {object: daemonSetWith(one, appsv1.DaemonSetStatus{ObservedGeneration: 2,
			DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberUnavailable: 1}),
			unhealthy: "has 1 of 3 pods unavailable (0 may be)"},
		"Deployment, all is well": {object: deploymentWith(2, appsv1.DeploymentStatus{Replicas: 2},
			"Available", "True", "", "Progressing", "True", "NewReplicaSetAvailable")},
		"Deployment rolling out": {object: deploymentWith(2, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 1},
			"Available", "True", "", "Progressing", "True", "ReplicaSetUpdated"), progressing: "has 1 of 2 pods updated"},
		"Deployment with pods too many": {object: deploymentWith(2, appsv1.DeploymentStatus{Replicas: 3},
			"Available", "True", "", "Progressing", "True", "NewReplicaSetAvailable"), progressing: "has 3 pods and wants 2"},
		"Deployment, unavailable": {object: deploymentWith(2, appsv1.DeploymentStatus{Replicas: 2, AvailableReplicas: 1},
			"Available", "False", "", "Progressing", "True", "NewReplicaSetAvailable"), unhealthy: "has 1 of 2 pods available"},
		"Deployment, stuck": {object: deploymentWith(1, appsv1.DeploymentStatus{Replicas: 1},
			"Available", "True", "", "Progressing", "False", "ProgressDeadlineExceeded"),
			unhealthy: "makes no progress: the reason", progressing: "has 0 of 1 pods updated"},
		"Deployment that cannot create pods": {object: deploymentWith(1, appsv1.DeploymentStatus{Replicas: 1},
			"Available", "True", "", "ReplicaFailure", "True", "", "Progressing", "True", "NewReplicaSetAvailable"),
			unhealthy: "cannot create pods: the reason"},
		"Job": {object: &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Message: "why"}}}}, unhealthy: "has failed: why"},
		"CustomResourceDefinition": {object: &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse, Message: "why"},
			}}}, unhealthy: "is not established: why"},
		"anything else": {object: &metav1.PartialObjectMetadata{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(unhealthy(c.object)).To(Equal(c.unhealthy))
			g.Expect(progressing(c.object)).To(Equal(c.progressing))
		})
	}
}

// The conditions follow the pods of a real DaemonSet.
func TestHealthFollowsTheShoot(t *testing.T) {
	contract.Shows(t, "R23", "R35")
	e := newEnv(t)
	agent := e.daemonSet("agent")
	skipped := e.deployment("skipped", map[string]string{resourcesv1alpha1.SkipHealthCheck: "true"})
	skipped.Spec.Template.Spec.NodeSelector = map[string]string{"no": "node"}
	e.state("network", agent, skipped)
	e.operator()
	e.becomesGood("network")

	stuck := agent.DeepCopy()
	// No node has that many processors, so the new pods stay pending.
	pod(stuck).Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100000")}
	e.state("network", stuck, skipped)
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "True ApplySucceeded"),
		HaveKeyWithValue("ResourcesProgressing", "True DaemonSetProgressing")))
	e.Eventually(e.message("network", "ResourcesProgressing")).Should(HavePrefix("DaemonSet " + e.namespace + "/agent has "))

	e.state("network", agent, skipped)
	e.becomesGood("network")
}

// While applying fails, health is unknown. Gardener's resource manager keeps the former
// conditions if the content did not change.
func TestHealthIsUnknownWhileApplyingFails(t *testing.T) {
	contract.Shows(t, "R20")
	e := newEnv(t)
	cm := e.configMap("one", "key", "value")
	e.state("network", cm)
	e.operator(func(o *Options) { o.SyncPeriod = time.Second })
	e.becomesGood("network")

	e.refuse(func(cluster string, request *http.Request) error {
		if cluster == "shoot" && request.Method == http.MethodPatch {
			return errors.New("refused by the test")
		}
		return nil
	})
	change(e, cm, func(cm *corev1.ConfigMap) { cm.Data["key"] = "theirs" })
	e.Eventually(e.message("network", "ResourcesApplied")).Should(ContainSubstring("refused by the test"))
	e.Eventually(func() string { return e.conditions("network")()["ResourcesHealthy"] }).Should(HavePrefix("Unknown "))
	e.Expect(e.conditions("network")()["ResourcesProgressing"]).To(HavePrefix("Unknown "))
	e.refuse(nil)
	e.becomesGood("network")

	mr := e.get("network")
	e.edit("network", func(mr *resourcesv1alpha1.ManagedResource) {
		mr.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: "no-such-secret"}}
	})
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", "False CannotReadSecret"),
		HaveKeyWithValue("ResourcesHealthy", "Unknown ChecksPending"),
		HaveKeyWithValue("ResourcesProgressing", "Unknown ChecksPending")))
	e.edit("network", func(present *resourcesv1alpha1.ManagedResource) { present.Spec.SecretRefs = mr.Spec.SecretRefs })
	e.becomesGood("network")
}
