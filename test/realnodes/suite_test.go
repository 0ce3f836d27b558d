// SPDX-License-Identifier: Apache-2.0

// Package realnodes tests Trellis on nodes that run containers and send packets: a user's
// Shoot, the operator with its least privileges, containerd, kubelets, flannel and the probe.
// `make e2e` runs it. It needs root, and what `make real-nodes` builds.
//
// Each test has a landscape of its own. Those of faults run side by side, and at the end the
// package prints a table of all faults, with the verdicts about connectivity and their times.
package realnodes

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/remnants"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

const shootFile = "../../examples/shoot-flannel.yaml"

var wanted = flag.Bool("realnodes", false, "run on real nodes; make e2e sets it")

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	os.Exit(remnants.Check(func() int {
		defer faults.print()
		return m.Run()
	}))
}

// landscape is a seed with an operator, and a shoot with real nodes and flannel.
type landscape struct {
	*WithT
	*standalone.Landscape
	t     *testing.T
	shoot *standalone.Shoot
	// families are those of the nodes; empty is IPv4.
	families string
	// stop ends the operator.
	stop   func()
	writes writes
}

// newLandscape has so many nodes in one subnet, with IPv4.
func newLandscape(t *testing.T, nodes int, edits ...func(shoot *unstructured.Unstructured)) *landscape {
	t.Helper()
	return newLandscapeOf(t, sandbox.RealNodes{Nodes: nodes}, edits...)
}

// newLandscapeOf applies the Shoot, with the families of the nodes, as the edits leave it. When the
// test ends, all of the landscape is gone.
func newLandscapeOf(t *testing.T, nodes sandbox.RealNodes, edits ...func(shoot *unstructured.Unstructured)) *landscape {
	t.Helper()
	needRealNodes(t)
	programs, err := sandbox.NodePrograms()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	nodes.Programs = programs
	box := startAlone(t, sandbox.Options{
		Shoots: []string{"garden-dev/flannel"}, Users: []string{standalone.User},
		Real: &nodes,
	})
	l := &landscape{WithT: g, t: t, families: nodes.Families}
	l.Landscape, err = standalone.Install(t.Context(), box)
	l.Expect(err).NotTo(HaveOccurred())
	l.shoot, err = l.Shoot(0)
	l.Expect(err).NotTo(HaveOccurred())
	l.countWrites()
	l.operate(nil)
	t.Cleanup(func() { l.stop() })
	document, err := os.ReadFile(shootFile)
	l.Expect(err).NotTo(HaveOccurred())
	shoot := &unstructured.Unstructured{}
	l.Expect(yaml.Unmarshal(document, &shoot.Object)).To(Succeed())
	for _, edit := range append(edits, withFamilies(nodes.Families)) {
		edit(shoot)
	}
	l.Expect(l.shoot.Apply(t.Context(), shoot)).To(Succeed())
	if strings.Contains(nodes.Families, ",") {
		l.reportRanges()
	}
	return l
}

// Ranges of the sandbox.
const (
	podsIPv6     = "fd00:10:96::/56"
	servicesIPv6 = "fd00:10:64::/112"
)

// withFamilies gives the Shoot's network these families, such as IPv4,IPv6; none are its own.
func withFamilies(families string) func(shoot *unstructured.Unstructured) {
	return func(shoot *unstructured.Unstructured) {
		if families == "" {
			return
		}
		networking, _, _ := unstructured.NestedMap(shoot.Object, "spec", "networking")
		if families == "IPv6" {
			networking["pods"], networking["services"] = podsIPv6, servicesIPv6
		}
		var list []any
		for family := range strings.SplitSeq(families, ",") {
			list = append(list, family)
		}
		networking["ipFamilies"] = list
		// VXLAN between IPv6 addresses takes 20 bytes more than flannel knows.
		networking["providerConfig"].(map[string]any)["mtu"] = int64(1480)
		shoot.Object["spec"].(map[string]any)["networking"] = networking
	}
}

// reportRanges writes the IPv6 ranges of a dual-stack Shoot into its status, as its infrastructure
// does. The spec has those of IPv4 only.
func (l *landscape) reportRanges() {
	l.t.Helper()
	l.Eventually(func(g Gomega) {
		shoot, err := l.shoot.Current(l.t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(shoot.Status.Networking).NotTo(BeNil())
		before := shoot.DeepCopy()
		of := shoot.Status.Networking
		of.Pods, of.Services = append(of.Pods, podsIPv6), append(of.Services, servicesIPv6)
		g.Expect(l.Seed.Status().Patch(l.t.Context(), shoot, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))).To(Succeed())
	}).Should(Succeed())
}

func needRealNodes(t *testing.T) {
	t.Helper()
	if !*wanted {
		t.Skip("make e2e runs this: it needs root, and the programs of real nodes")
	}
}

// startAlone starts a sandbox while nothing else starts, until hasStarted: kubelets, API servers and
// probes give up, or are late, when they get too little of the processors.
func startAlone(t *testing.T, options sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	awaitTurn(t)
	return sandbox.ForTest(t, options)
}

// operate runs the operator until stop. images replaces images by their names.
func (l *landscape) operate(images map[string]string) {
	stop, err := l.Operate(logr.Discard(), func(c *configv1alpha1.OperatorConfiguration) { c.Images = images })
	l.Expect(err).NotTo(HaveOccurred())
	l.stop = func() {
		if err := stop(); err != nil {
			l.t.Error(err)
		}
	}
}

// talks waits until pods talk, and then until each edge has worked so often that its failures count,
// although the nodes are new.
func (l *landscape) talks() {
	l.t.Helper()
	l.becomes(Equal(standalone.AllWell), starts)
	hasStarted(l.t)
	faults.add(row{fault: fmt.Sprintf("the Shoot is applied, %d nodes with %s", l.Shoots[0].Nodes, cmp.Or(l.families, "IPv4")), verdict: l.verdict(),
		after: time.Since(l.shoot.Applied), writes: len(l.writes.since(l.shoot.Applied))})
	l.Eventually(func(g Gomega) {
		unproven, _, err := l.shoot.Unproven(l.t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(unproven).To(BeEmpty())
	}).Should(Succeed())
	awaitFirst()
}

// node returns a node by its name.
func (l *landscape) node(name string) sandbox.Node { return l.shoot.Node(name) }

// nodes returns the names of two nodes. On the first one CoreDNS does not run, so that a fault of it
// is none of DNS.
func (l *landscape) nodes() (without, with string) {
	pods := &corev1.PodList{}
	l.Expect(l.shoot.Cluster.List(l.t.Context(), pods, client.InNamespace("kube-system"), client.MatchingLabels{"k8s-app": "kube-dns"})).To(Succeed())
	l.Expect(pods.Items).To(HaveLen(1))
	with = pods.Items[0].Spec.NodeName
	return map[string]string{"node-1": "node-2", "node-2": "node-1", "node-3": "node-1"}[with], with
}

// health is what the Network's status tells.
func (l *landscape) health() standalone.Health {
	health, err := l.shoot.Health(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	return health
}

// verdict is the part of the Network's status that is about connectivity.
func (l *landscape) verdict() string { return l.health().Verdict }

// message is what the condition about connectivity tells users, after its reason.
func (l *landscape) message() string {
	is := l.health().Pods
	return is.Reason + ": " + is.Message
}

// components is the status of the condition about the network's own workloads.
func (l *landscape) components() string { return string(l.health().Components.Status) }

// becomes waits for a verdict, and returns how long that took. It fails after the limit.
func (l *landscape) becomes(wanted types.GomegaMatcher, limit time.Duration) time.Duration {
	l.t.Helper()
	began := time.Now()
	l.Eventually(l.verdict).WithTimeout(limit).Should(wanted, l.evidence)
	return time.Since(began)
}

// evidence is what a verdict comes from: all that the status told, and when, and the reports.
func (l *landscape) evidence() string {
	text := fmt.Sprintf("at %s: %s\n", time.Now().Format(time.TimeOnly), l.message())
	for _, one := range l.writes.since(time.Time{}) {
		text += fmt.Sprintf("%s %s\n", one.at.Format(time.TimeOnly), one.verdict)
	}
	reports, err := l.shoot.Kubectl(l.t.Context(), "", "get", "nodeconnectivities,nodes,pods,endpointslices", "-A", "-o", "wide")
	text += fmt.Sprintln(reports, err)
	reports, err = l.shoot.Kubectl(l.t.Context(), "", "get", "nodeconnectivities", "-o", "json")
	return text + fmt.Sprintln(reports, err)
}

// kubectl runs the sandbox's kubectl in the shoot, and returns what it has written.
func (l *landscape) kubectl(args ...string) string {
	l.t.Helper()
	output, err := l.shoot.Kubectl(l.t.Context(), "", args...)
	l.Expect(err).NotTo(HaveOccurred())
	return output
}
