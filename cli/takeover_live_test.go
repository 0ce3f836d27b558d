// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/cli"
)

// An operator learns which pods a take-over restarts and why, which objects come and go, and that
// nothing else is done: objects of another spelling restart nothing.
func TestTakeoverSaysWhatWouldChange(t *testing.T) {
	l := seedOf(t)
	const namespace = "shoot--dev--extension"
	l.cluster(namespace)
	n := l.network(namespace, "mine")
	_, objects, _ := call([]string{"render", "--mode", "standalone", "--api-server", "api.example.com:443", "-f", "-"}, noopShoot("{}"))
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "managedresource-noop", Namespace: namespace},
		Data: map[string][]byte{"charts.yaml": []byte(strings.ReplaceAll(objects, "          image: registry.example.com/noop:v1", "          image: registry.example.com/noop:v1\n          imagePullPolicy: IfNotPresent") +
			"---\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"relic\", \"namespace\": \"kube-system\"}}\n")},
	}
	l.create(secret, &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: namespace, Labels: map[string]string{"origin": "another"}},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: secret.Name}}},
	})
	exit, said, problems := l.run("takeover", "--check", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitOK), problems)
	l.Expect(said).To(And(
		ContainSubstring("network shoot--dev--extension/mine (noop): 0 workloads to restart"),
		ContainSubstring("  deletes ConfigMap kube-system/relic\n"),
		HaveSuffix("1 network: Trellis can take over 1, runs 0 already, would refuse 0\n")))

	secret.Data["charts.yaml"] = []byte(strings.ReplaceAll(objects, "noop:v1", "noop:v0"))
	l.Expect(l.client.Update(t.Context(), secret)).To(Succeed())
	_, said, _ = l.run("takeover", "--check", "-n", namespace)
	l.Expect(said).To(And(
		ContainSubstring("1 workload to restart; 0 objects to add, 0 to delete, 1 to change\n"),
		ContainSubstring("  restarts DaemonSet.apps kube-system/noop, because these differ: spec.containers[noop].image\n")))
	exit, said, _ = l.run("takeover", "--check", "-n", namespace, "-o", "json")
	l.Expect(exit).To(Equal(cli.ExitOK))
	var shown []map[string]any
	l.Expect(json.Unmarshal([]byte(said), &shown)).To(Succeed())
	l.Expect(shown).To(ConsistOf(HaveKeyWithValue("restarts", ConsistOf(map[string]any{
		"workload": "DaemonSet.apps kube-system/noop", "because": []any{"spec.containers[noop].image"},
	}))))

	before := n.DeepCopy()
	n.Spec.ProviderConfig.Raw = []byte(`{"colour": "green"}`)
	l.Expect(l.client.Patch(t.Context(), n, client.MergeFrom(before))).To(Succeed())
	exit, said, _ = l.run("takeover", "--check", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitInvalid))
	l.Expect(said).To(And(ContainSubstring("Trellis would refuse it"), ContainSubstring(`colour: Unsupported value: "green"`)))
}

// A network that an extension has taken back can be taken over again.
func TestTakeoverLeavesNetworksOfTrellisAlone(t *testing.T) {
	l := seedOf(t)
	const namespace = "shoot--dev--trellis"
	l.cluster(namespace)
	l.operate(l.network(namespace, "mine"))
	exit, said, problems := l.run("takeover", "--check", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitOK), problems)
	l.Expect(said).To(HavePrefix("network shoot--dev--trellis/mine (noop): Trellis runs it already\n"))

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: namespace}, Data: map[string][]byte{}}
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "noop", Namespace: namespace}}
	l.create(secret)
	l.Expect(l.client.Patch(t.Context(), mr, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"secretRefs":[{"name":"another"}]}}`)))).To(Succeed())
	_, said, _ = l.run("takeover", "--check", "-n", namespace)
	l.Expect(said).To(HavePrefix("network shoot--dev--trellis/mine (noop): 0 workloads to restart; 2 objects to add, "), "it was handed back")
}

// A Network that cannot be read does not keep others from being checked.
func TestTakeoverChecksWhatItCanRead(t *testing.T) {
	l := seedOf(t)
	const namespace = "shoot--dev--several"
	l.cluster(namespace)
	l.network(namespace, "mine")
	broken := l.network(namespace, "broken")
	before := broken.DeepCopy()
	broken.Status.State = &runtime.RawExtension{Raw: []byte(`{"applied": {"config": "colourful"}}`)}
	l.Expect(l.client.Status().Patch(t.Context(), broken, client.MergeFrom(before))).To(Succeed())
	exit, said, problems := l.run("takeover", "--check", "-n", namespace)
	l.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	l.Expect(problems).To(ContainSubstring("network shoot--dev--several/broken: status.state of the Network"))
	l.Expect(said).To(And(HavePrefix("network shoot--dev--several/mine (noop): "), HaveSuffix("1 network: Trellis can take over 1, runs 0 already, would refuse 0\n")))
}

// It never writes: a take-over is what the operator does.
func TestTakeoverOnlyChecks(t *testing.T) {
	g := NewWithT(t)
	exit, _, problems := call([]string{"takeover", "-n", "shoot--dev--mine"}, "")
	g.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	g.Expect(problems).To(ContainSubstring("takeover needs --check, and then changes nothing"))
	exit, _, problems = call([]string{"takeover", "--check", "--kubeconfig", "/nowhere"}, "")
	g.Expect(exit).To(Equal(cli.ExitCouldNotRun))
	g.Expect(problems).To(HavePrefix("Error: "))
}
