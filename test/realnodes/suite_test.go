// SPDX-License-Identifier: Apache-2.0

// Package realnodes tests Trellis on nodes that run containers and send packets: a user's
// Shoot, the operator with its least privileges, containerd, kubelets, flannel and the probe.
// `make e2e` runs it. It needs root, and what `make real-nodes` builds.
//
// Each test has a landscape of its own. Those of faults run side by side, and at the end the
// package prints a table of all faults, with the verdicts about connectivity and their times.
package realnodes

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/condition"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/remnants"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	operatorUser = "trellis-operator"
	settings     = `{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}, images: {%s}}`
	shootFile    = "../../examples/shoot-flannel.yaml"
)

var (
	wanted   = flag.Bool("realnodes", false, "run on real nodes; make e2e sets it")
	networks = client.ObjectKey{Namespace: "shoot--dev--flannel", Name: "flannel"}
)

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
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot *harness.Cluster
	// began is when the Shoot was applied.
	began time.Time
	// stop ends the operator.
	stop func()
}

// newLandscape applies the Shoot as the edits leave it. When the test ends, all of the landscape is
// gone.
func newLandscape(t *testing.T, nodes int, edits ...func(shoot *unstructured.Unstructured)) *landscape {
	t.Helper()
	needRealNodes(t)
	programs, err := sandbox.NodePrograms()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	l := &landscape{WithT: g, t: t}
	l.box = startAlone(t, sandbox.Options{
		Shoots: []string{"garden-dev/flannel"}, Users: []string{operatorUser},
		Real: &sandbox.RealNodes{Nodes: nodes, Programs: programs},
	})
	l.seed, l.shoot = l.connect(l.box.Seed.Kubeconfig), l.connect(l.box.Shoots[0].Kubeconfig)
	l.Expect(connectivityv1alpha1.AddToScheme(l.shoot.Scheme())).To(Succeed())
	l.Expect(install.CRDs(t.Context(), l.seed)).To(Succeed())
	l.Expect(install.Rights(t.Context(), l.seed, configv1alpha1.ModeStandalone, operatorUser, "default")).To(Succeed())
	l.operate("")
	t.Cleanup(func() { l.stop() })
	document, err := os.ReadFile(shootFile)
	l.Expect(err).NotTo(HaveOccurred())
	shoot := &unstructured.Unstructured{}
	l.Expect(yaml.Unmarshal(document, &shoot.Object)).To(Succeed())
	for _, edit := range edits {
		edit(shoot)
	}
	l.began = time.Now()
	l.Expect(l.seed.Create(t.Context(), shoot)).To(Succeed())
	return l
}

func needRealNodes(t *testing.T) {
	t.Helper()
	if !*wanted {
		t.Skip("make e2e runs this: it needs root, and the programs of real nodes")
	}
}

var starting sync.Mutex

// startAlone starts a sandbox while no other one starts: kubelets and API servers give up when they
// get too little of the processors.
func startAlone(t *testing.T, options sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	return sandbox.ForTest(t, options)
}

func (l *landscape) connect(kubeconfig string) *harness.Cluster {
	c, err := harness.Connect(kubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	return c
}

// operate runs the operator until stop. images are those of its configuration.
func (l *landscape) operate(images string) {
	api, err := clientcmd.BuildConfigFromFlags("", l.box.Seed.Users[operatorUser])
	l.Expect(err).NotTo(HaveOccurred())
	config, err := configv1alpha1.Load(fmt.Appendf(nil, settings, images))
	l.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Plugins: plugins.All(), Providers: providers.All(), Config: config, Seed: api, Log: logr.Discard(),
		})
	}()
	l.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	}
}

// talks waits until pods talk, and then until each edge has worked so often that its failures count,
// although the nodes are new.
func (l *landscape) talks() {
	l.t.Helper()
	l.becomes(Equal(allWell), 3*time.Minute)
	nodes := l.box.Shoots[0].Nodes
	faults.add(row{fault: fmt.Sprintf("the Shoot is applied, %d nodes", nodes), verdict: l.verdict(), after: time.Since(l.began)})
	const provenAfter = 3
	l.Eventually(func(g Gomega) {
		reports := &connectivityv1alpha1.NodeConnectivityList{}
		g.Expect(l.shoot.List(l.t.Context(), reports)).To(Succeed())
		g.Expect(reports.Items).To(HaveLen(nodes))
		for _, each := range reports.Items {
			for _, check := range each.Report.Checks {
				for _, result := range check.Results {
					g.Expect(result.Attempts-result.Failures).To(BeNumerically(">=", provenAfter), "%s to %s", each.Name, result.Name)
				}
			}
		}
	}).Should(Succeed())
}

// node returns a node by its name.
func (l *landscape) node(name string) sandbox.Node { return l.box.Node(l.box.Shoots[0], name) }

// nodes returns the names of two nodes. On the first one CoreDNS does not run, so that a fault of it
// is none of DNS.
func (l *landscape) nodes() (without, with string) {
	pods := &corev1.PodList{}
	l.Expect(l.shoot.List(l.t.Context(), pods, client.InNamespace("kube-system"), client.MatchingLabels{"k8s-app": "kube-dns"})).To(Succeed())
	l.Expect(pods.Items).To(HaveLen(1))
	with = pods.Items[0].Spec.NodeName
	return map[string]string{"node-1": "node-2", "node-2": "node-1", "node-3": "node-1"}[with], with
}

// network is the shoot's, empty as long as there is none.
func (l *landscape) network() *extensionsv1alpha1.Network {
	network := &extensionsv1alpha1.Network{}
	l.Expect(client.IgnoreNotFound(l.seed.Get(l.t.Context(), networks, network))).To(Succeed())
	return network
}

// verdict is the part of the Network's status that is about connectivity, such as
// "True dns nodes pods services": the tests that pass, or "False nodes !pods" if pods fails.
func (l *landscape) verdict() string {
	network := l.network()
	status := &struct {
		Tests map[string]any `json:"connectivityTests"`
	}{}
	if network.Status.ProviderStatus != nil {
		l.Expect(yaml.Unmarshal(network.Status.ProviderStatus.Raw, status)).To(Succeed())
	}
	words := []string{string(condition.Value(network.Status.Conditions, extensionsv1alpha1.PodNetworkAvailable).Status)}
	for _, test := range []string{"dns", "nodes", "pods", "services"} {
		switch status.Tests[test] {
		case true:
			words = append(words, test)
		case false:
			words = append(words, "!"+test)
		}
	}
	return strings.Join(words, " ")
}

// message is what the condition about connectivity tells users, after its reason.
func (l *landscape) message() string {
	is := condition.Value(l.network().Status.Conditions, extensionsv1alpha1.PodNetworkAvailable)
	return is.Reason + ": " + is.Message
}

// components is the status of the condition about the network's own workloads.
func (l *landscape) components() string {
	return string(condition.Value(l.network().Status.Conditions, "SystemComponentsHealthy").Status)
}

// becomes waits for a verdict, and returns how long that took. It fails after the limit.
func (l *landscape) becomes(wanted types.GomegaMatcher, limit time.Duration) time.Duration {
	l.t.Helper()
	began := time.Now()
	l.Eventually(l.verdict).WithTimeout(limit).Should(wanted, l.message)
	return time.Since(began)
}

// kubectl runs the sandbox's kubectl in the shoot, and returns what it has written.
func (l *landscape) kubectl(args ...string) string {
	l.t.Helper()
	output, err := exec.CommandContext(l.t.Context(), l.box.Kubectl, append([]string{"--kubeconfig", l.box.Shoots[0].Kubeconfig}, args...)...).CombinedOutput()
	l.Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
