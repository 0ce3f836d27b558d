// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/cli"
)

// The seed is also the shoot: no other package has this kind there.
func TestTheConnectivityOfAShoot(t *testing.T) {
	l := seedOf(t)
	namespace := l.client.Namespace(t, "connectivity-")
	l.network(namespace, "mine")
	fails := func(says string, args ...string) {
		t.Helper()
		exit, shown, problems := call(append([]string{"connectivity"}, args...), "")
		l.Expect(exit).To(Equal(cli.ExitCouldNotRun), shown)
		l.Expect(shown).To(BeEmpty())
		l.Expect(problems).To(And(HavePrefix("Error: "), ContainSubstring(says)))
	}
	seed := []string{"--kubeconfig", l.kubeconfig, "-n", namespace}
	fails("requires either NETWORK or --shoot-kubeconfig")
	fails("requires either NETWORK or --shoot-kubeconfig", "mine", "--shoot-kubeconfig", l.kubeconfig)
	fails("were all set", append(seed, "--shoot-kubeconfig", l.kubeconfig)...)
	fails("load the kubeconfig of the shoot: stat gone: no such file", "--shoot-kubeconfig", "gone")
	fails("did you mean mine?", append(seed, "mien")...)
	fails("get access to the shoot from the Secret "+namespace+"/gardener; with a kubeconfig of the shoot, pass --shoot-kubeconfig instead: ", append(seed, "mine")...)
	fails("the shoot does not know NodeConnectivities, so its network has no probes", "--shoot-kubeconfig", l.kubeconfig)

	l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gardener", Namespace: namespace}, Data: map[string][]byte{"kubeconfig": l.client.Kubeconfig}})
	l.installReports()
	fails("no probe has reported yet", append(seed, "mine")...)
	stranger := *l
	fails("the user must have the right to list nodeconnectivities.connectivity.trellis.network", "--shoot-kubeconfig", stranger.as("stranger"))

	l.report("node-a", "node-b", 0)
	l.report("node-b", "node-a", 0)
	exit, shown, problems := call(append([]string{"connectivity", "mine"}, seed...), "")
	l.Expect(exit).To(Equal(cli.ExitOK), problems)
	l.Expect(shown).To(And(
		HavePrefix(namespace+"/mine: 2 nodes, of which 0 without a recent report; 2 targets, of which 0 failing\n"), ContainSubstring("node-a       –    0.42\n")))

	l.report("node-b", "node-a", 2)
	exit, shown, _ = call(append([]string{"connectivity", "mine", "-o", "json"}, seed...), "")
	l.Expect(exit).To(Equal(cli.ExitInvalid))
	var content struct {
		Edges []struct {
			From, To string
			Failing  bool
		}
	}
	l.Expect(json.Unmarshal([]byte(shown), &content)).To(Succeed())
	l.Expect(content.Edges).To(HaveLen(2))
	l.Expect(content.Edges[1].Failing).To(BeTrue())

	exit, shown, _ = call([]string{"connectivity", "--shoot-kubeconfig", l.kubeconfig, "-o", "html"}, "")
	l.Expect(exit).To(Equal(cli.ExitInvalid))
	l.Expect(shown).To(And(HavePrefix("<!DOCTYPE html>"), ContainSubstring(">FAIL</td>")))

	for i := range 250 { // more than are read at once
		l.report("another-"+string(rune('a'+i/26))+string(rune('a'+i%26)), "node-a", 0)
	}
	_, shown, _ = call(append([]string{"connectivity", "mine"}, seed...), "")
	l.Expect(shown).To(ContainSubstring(": 252 nodes, of which 0 without a recent report; 252 targets"))
}

// installReports brings the kind of the reports into the cluster until the test ends.
func (l *live) installReports() {
	l.t.Helper()
	manifest, err := os.ReadFile("../pipeline/probe/manifests/connectivity.trellis.network_nodeconnectivities.yaml")
	l.Expect(err).NotTo(HaveOccurred())
	kind := &apiextensionsv1.CustomResourceDefinition{}
	l.Expect(yaml.UnmarshalStrict(manifest, kind)).To(Succeed())
	l.create(kind)
	l.t.Cleanup(func() { _ = l.client.Delete(context.Background(), kind) }) // the context of the test has ended
	l.Eventually(func(g Gomega) {
		g.Expect(l.client.Get(l.t.Context(), client.ObjectKeyFromObject(kind), kind)).To(Succeed())
		g.Expect(kind.Status.Conditions).To(ContainElement(And(HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))))
	}).Should(Succeed())
}

// report writes what a probe does.
func (l *live) report(from, to string, failures int32) {
	l.t.Helper()
	scheme := runtime.NewScheme()
	l.Expect(connectivityv1alpha1.AddToScheme(scheme)).To(Succeed())
	shoot, err := client.New(l.client.Config, client.Options{Scheme: scheme})
	l.Expect(err).NotTo(HaveOccurred())
	report := &connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: from}, Report: connectivityv1alpha1.Report{
		Time: metav1.Now(), Targets: 1, Peers: 1,
		Checks: []connectivityv1alpha1.Check{{
			Family: connectivityv1alpha1.IPv4, Type: connectivityv1alpha1.CheckPods, Targets: 1,
			Results: []connectivityv1alpha1.Result{{Name: to, Address: "10.96.0.7:8080", Attempts: 30, Failures: failures, ConsecutiveFailures: failures, LatencyMicroseconds: 420}},
		}},
	}}
	err = shoot.Create(l.t.Context(), report)
	if err != nil {
		old := &connectivityv1alpha1.NodeConnectivity{}
		l.Expect(shoot.Get(l.t.Context(), client.ObjectKey{Name: from}, old)).To(Succeed())
		report.ResourceVersion = old.ResourceVersion
		l.Expect(shoot.Update(l.t.Context(), report)).To(Succeed())
	}
}
