// SPDX-License-Identifier: Apache-2.0

// Package realcalico runs Networks of type calico with Calico's own agents on real nodes, from a
// user's Shoot on. `make realcalico` builds the agents and runs it. It prints a table of what ran.
package realagents

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/remnants"
	"github.com/trellis-network/trellis/test/sandbox"
	"github.com/trellis-network/trellis/test/standalone"
)

// patience is for what takes seconds on a machine that does nothing else.
const patience = 4 * time.Minute

// agents are the directories with the archives of the agents' images, by the type of their network.
var agents = map[string]*string{
	"calico": flag.String("calico", "", "the directory that test/realagents/calico prints"),
	"cilium": flag.String("cilium", "", "the directory that test/realagents/cilium prints"),
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	flag.Parse()
	if *agents["calico"] == "" && *agents["cilium"] == "" {
		os.Exit(m.Run())
	}
	os.Exit(remnants.Check(func() int {
		defer printTable()
		return m.Run()
	}))
}

// network is a Network of a type with real agents, from which a Shoot and a sandbox follow.
type network struct {
	// is the type; empty is calico.
	is string
	// further types have agents on the nodes' disks as well, since the type may change to them.
	further []string
	// config is the body of its NetworkConfig, as YAML.
	config string
	// families are those of the sandbox, such as IPv4,IPv6. Empty is IPv4.
	families string
	// withoutKubeProxy removes kube-proxy from the nodes.
	withoutKubeProxy bool
	// fewRights lets calico-node run as no root.
	fewRights bool
	// nodes is how many nodes the cluster has; 0 is 2.
	nodes int
}

// nodeRange has the nodes and not their router, which no network gives routes to pods: what pods
// send to the API server there leaves with the nodes' addresses, as it does in most clouds.
const (
	nodeRange     = "10.250.0.8/29"
	routerAddress = "10.250.0.1"
)

func (n network) shoot() string {
	var more string
	if n.families != "" {
		more = "\n    ipFamilies: [" + n.families + "]"
	}
	proxy := "{mode: NFTables}"
	if n.withoutKubeProxy {
		proxy = "{enabled: false}"
	}
	return `
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: ` + n.typ() + `, namespace: garden-dev}
spec:
  cloudProfileName: local
  region: local
  provider:
    type: router # which Trellis does not know: a router of the tests may make routes
    workers: [{name: local, machine: {type: local}, minimum: 1, maximum: 3}]
  kubernetes: {version: 1.36.3, kubeProxy: ` + proxy + `}
  networking:
    type: ` + n.typ() + `
    nodes: ` + nodeRange + `
    pods: 100.96.0.0/11
    services: 100.64.0.0/13` + more + `
    providerConfig: ` + n.providerConfig() + "\n"
}

func (n network) typ() string { return cmp.Or(n.is, "calico") }

func (n network) providerConfig() string {
	return "{apiVersion: " + n.typ() + ".networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig, " + n.config + "}"
}

// landscape is a seed with an operator, and a shoot with real nodes.
type landscape struct {
	*WithT
	*standalone.Landscape
	t           *testing.T
	shoot       *standalone.Shoot
	network     network
	operatorLog harness.Lines
}

// newLandscape starts everything but the network. When the test ends, all of it is gone.
func newLandscape(t *testing.T, of network) *landscape {
	t.Helper()
	var images []string
	for _, each := range append(of.further, of.typ()) {
		if *agents[each] == "" {
			t.Skip("make real" + each + " runs this: it needs root, and the agents of " + each)
		}
		archives, err := filepath.Glob(filepath.Join(*agents[each], "*.tar"))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(archives).NotTo(BeEmpty(), "archives in "+*agents[each])
		images = append(images, archives...)
	}
	programs, err := sandbox.NodePrograms()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	if of.fewRights {
		images = slices.DeleteFunc(images, func(file string) bool { return filepath.Base(file) == "calico-node.tar" })
		images = append(images, filepath.Join(*agents["calico"], "few-rights", "calico-node.tar"))
	}
	l := &landscape{WithT: g, t: t, network: of}
	l.Landscape, err = standalone.Install(t.Context(), sandbox.ForTest(t, sandbox.Options{
		Shoots: []string{"garden-dev/" + of.typ()}, Users: []string{standalone.User},
		Real: &sandbox.RealNodes{Nodes: cmp.Or(of.nodes, 2), Programs: programs, Images: images, Families: strings.ReplaceAll(of.families, " ", "")},
	}))
	l.Expect(err).NotTo(HaveOccurred())
	l.shoot, err = l.Shoot(0)
	l.Expect(err).NotTo(HaveOccurred())
	stop, err := l.Operate(l.operatorLog.Logger(), func(c *configv1alpha1.OperatorConfiguration) {
		c.FeatureGates = map[string]bool{"NonPrivilegedCalicoNode": of.fewRights}
	})
	l.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if of.withoutKubeProxy {
		l.must("-n", "kube-system", "delete", "daemonset", "kube-proxy")
		// Without kube-proxy, calico-node finds the API server as its user tells it.
		l.must("-n", "kube-system", "create", "configmap", "kubernetes-services-endpoint",
			"--from-literal=KUBERNETES_SERVICE_HOST="+routerAddress, "--from-literal=KUBERNETES_SERVICE_PORT=443")
	}
	return l
}

// apply applies the Shoot.
func (l *landscape) apply() {
	l.t.Helper()
	shoot := &unstructured.Unstructured{}
	l.Expect(yaml.Unmarshal([]byte(l.network.shoot()), &shoot.Object)).To(Succeed())
	l.Expect(l.shoot.Apply(l.t.Context(), shoot)).To(Succeed())
}

// change changes the NetworkConfig of the Shoot, as its owner does.
func (l *landscape) change(config string) {
	l.t.Helper()
	l.network.config = config
	changed := map[string]any{}
	l.Expect(yaml.Unmarshal([]byte(l.network.providerConfig()), &changed)).To(Succeed())
	l.Expect(l.shoot.Edit(l.t.Context(), func(shoot *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(shoot.Object, changed, "spec", "networking", "providerConfig")
	})).To(Succeed())
}

// remove deletes the Shoot, and returns how long that took.
func (l *landscape) remove() time.Duration {
	l.t.Helper()
	l.Expect(l.shoot.Edit(l.t.Context(), func(shoot *unstructured.Unstructured) {
		shoot.SetAnnotations(map[string]string{"confirmation.gardener.cloud/deletion": "true"})
	})).To(Succeed())
	began := time.Now()
	shoot, err := l.shoot.Current(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(l.Seed.Delete(l.t.Context(), shoot)).To(Succeed())
	l.Eventually(func() bool {
		_, err := l.shoot.Current(l.t.Context())
		return apierrors.IsNotFound(err)
	}).Should(BeTrue(), "the Shoot goes")
	return time.Since(began)
}

// verdict is what the status says of the pods' network and of the components, with the messages
// of what is not well.
func (l *landscape) verdict() string {
	is, err := l.shoot.Health(l.t.Context())
	l.Expect(err).NotTo(HaveOccurred())
	verdict := is.Verdict + ", components " + string(is.Components.Status)
	if verdict != allWell {
		verdict += ": " + is.Pods.Message + "; " + is.Components.Message
	}
	return verdict
}

const allWell = standalone.AllWell + ", components True"

// becomesWell waits until the status says that pods talk and all components are healthy.
func (l *landscape) becomesWell() {
	l.t.Helper()
	l.Eventually(l.verdict).Should(Equal(allWell))
}
