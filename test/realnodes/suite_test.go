// SPDX-License-Identifier: Apache-2.0

// Package realnodes tests Trellis on nodes that run containers and send packets: a user's
// Shoot, the operator with its least privileges, containerd, kubelets, flannel and the probe.
// `make e2e` runs it. It needs root, and what `make real-nodes` builds.
package realnodes

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
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
	settings     = `{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}}`
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
	os.Exit(remnants.Check(m.Run))
}

// landscape is a seed with an operator, and a shoot with two real nodes and flannel.
type landscape struct {
	*WithT
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot *harness.Cluster
	began       time.Time
}

// newLandscape applies the Shoot as the edits leave it. When the test ends, all of the landscape is
// gone.
func newLandscape(t *testing.T, edits ...func(shoot *unstructured.Unstructured)) *landscape {
	t.Helper()
	needRealNodes(t)
	programs, err := sandbox.NodePrograms()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	l := &landscape{WithT: g, t: t}
	l.box = sandbox.ForTest(t, sandbox.Options{
		Shoots: []string{"garden-dev/flannel"}, Users: []string{operatorUser},
		Real: &sandbox.RealNodes{Nodes: 2, Programs: programs},
	})
	l.seed, l.shoot = l.connect(l.box.Seed.Kubeconfig), l.connect(l.box.Shoots[0].Kubeconfig)
	l.Expect(install.CRDs(t.Context(), l.seed)).To(Succeed())
	l.Expect(install.Rights(t.Context(), l.seed, configv1alpha1.ModeStandalone, operatorUser, "default")).To(Succeed())
	l.operate()
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

func (l *landscape) connect(kubeconfig string) *harness.Cluster {
	c, err := harness.Connect(kubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	return c
}

// operate runs the operator until the test ends.
func (l *landscape) operate() {
	api, err := clientcmd.BuildConfigFromFlags("", l.box.Seed.Users[operatorUser])
	l.Expect(err).NotTo(HaveOccurred())
	config, err := configv1alpha1.Load([]byte(settings))
	l.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Plugins: plugins.All(), Providers: providers.All(), Config: config, Seed: api, Log: logr.Discard(),
		})
	}()
	l.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			l.t.Error(err)
		}
	})
}

// verdict is the part of a Network's status that is about connectivity, such as
// "True dns nodes pods services": the tests that pass, or "False nodes !pods" if pods fails.
func (l *landscape) verdict() string {
	network := &extensionsv1alpha1.Network{}
	if err := l.seed.Get(l.t.Context(), networks, network); err != nil {
		return err.Error()
	}
	status := &struct {
		Tests map[string]any `json:"connectivityTests"`
	}{}
	if network.Status.ProviderStatus != nil {
		l.Expect(yaml.Unmarshal(network.Status.ProviderStatus.Raw, status)).To(Succeed())
	}
	words := []string{conditionOf(network, "PodNetworkAvailable")}
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

// components is the status of the condition about the network's own workloads.
func (l *landscape) components() string {
	network := &extensionsv1alpha1.Network{}
	if err := l.seed.Get(l.t.Context(), networks, network); err != nil {
		return err.Error()
	}
	return conditionOf(network, "SystemComponentsHealthy")
}

func conditionOf(network *extensionsv1alpha1.Network, name string) string {
	for _, each := range network.Status.Conditions {
		if string(each.Type) == name {
			return string(each.Status)
		}
	}
	return "absent"
}

// becomes waits for a verdict and prints how long that took. It fails after the limit.
func (l *landscape) becomes(after string, matcher any, limit time.Duration) {
	l.t.Helper()
	began := time.Now()
	l.Eventually(l.verdict).WithTimeout(limit).Should(Satisfy(func(is string) bool {
		found, err := ContainElement(matcher).Match([]string{is})
		return err == nil && found
	}), after)
	fmt.Fprintf(os.Stderr, "%-32s %-40s after %4.1f s\n", after, l.verdict(), time.Since(began).Seconds())
}

// noLongerNew waits until failures of the nodes count: those of new ones do not.
func (l *landscape) noLongerNew() {
	l.t.Helper()
	const joinPeriod = 3 * time.Minute
	fmt.Fprintln(os.Stderr, "waiting until the nodes are three minutes old, from when on what they fail counts")
	l.Eventually(func(g Gomega) {
		nodes := &corev1.NodeList{}
		g.Expect(l.shoot.List(l.t.Context(), nodes)).To(Succeed())
		g.Expect(nodes.Items).To(HaveLen(2))
		for _, node := range nodes.Items {
			g.Expect(time.Since(node.CreationTimestamp.Time)).To(BeNumerically(">", joinPeriod))
		}
	}).WithTimeout(2 * joinPeriod).Should(Succeed())
}

// kubectl runs the sandbox's kubectl in the shoot, and returns what it has written.
func (l *landscape) kubectl(args ...string) string {
	l.t.Helper()
	output, err := exec.CommandContext(l.t.Context(), l.box.Kubectl, append([]string{"--kubeconfig", l.box.Shoots[0].Kubeconfig}, args...)...).CombinedOutput()
	l.Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
