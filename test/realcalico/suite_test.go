// SPDX-License-Identifier: Apache-2.0

// Package realcalico runs Networks of type calico with Calico's own agents on real nodes, from a
// user's Shoot on. `make realcalico` builds the agents and runs it. It prints a table of what ran.
package realcalico

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	operatorUser = "trellis-operator"
	settings     = `{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}}`
	// patience is for what takes seconds on a machine that does nothing else.
	patience = 4 * time.Minute
)

var (
	agents     = flag.String("agents", "", "the directory that test/realcalico/agents prints")
	networkKey = client.ObjectKey{Namespace: "shoot--dev--calico", Name: "calico"}
	shootKey   = client.ObjectKey{Namespace: "garden-dev", Name: "calico"}
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	status := m.Run()
	printTable()
	os.Exit(status)
}

// network is a Network of type calico, from which a Shoot and a sandbox follow.
type network struct {
	// config is the body of its NetworkConfig, as YAML.
	config string
	// families are those of the sandbox, such as IPv4,IPv6. Empty is IPv4.
	families string
	// withoutKubeProxy removes kube-proxy from the nodes.
	withoutKubeProxy bool
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
metadata: {name: calico, namespace: garden-dev}
spec:
  cloudProfileName: local
  region: local
  provider:
    type: local
    workers: [{name: local, machine: {type: local}, minimum: 1, maximum: 2}]
  kubernetes: {version: 1.36.3, kubeProxy: ` + proxy + `}
  networking:
    type: calico
    nodes: ` + nodeRange + `
    pods: 100.96.0.0/11
    services: 100.64.0.0/13` + more + `
    providerConfig: ` + n.providerConfig() + "\n"
}

func (n network) providerConfig() string {
	return "{apiVersion: calico.networking.extensions.gardener.cloud/v1alpha1, kind: NetworkConfig, " + n.config + "}"
}

// landscape is a seed with an operator, and a shoot with two real nodes.
type landscape struct {
	*WithT
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot *harness.Cluster
	network     network
	operatorLog *log
	began       time.Time
}

// newLandscape starts everything but the network. When the test ends, all of it is gone.
func newLandscape(t *testing.T, of network) *landscape {
	t.Helper()
	if *agents == "" {
		t.Skip("make realcalico runs this: it needs root, and Calico's agents")
	}
	programs, err := sandbox.NodePrograms()
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	images, err := filepath.Glob(filepath.Join(*agents, "*.tar"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images).NotTo(BeEmpty(), "archives in "+*agents)
	l := &landscape{WithT: g, t: t, network: of, operatorLog: &log{}}
	l.box = sandbox.ForTest(t, sandbox.Options{
		Shoots: []string{shootKey.String()}, Users: []string{operatorUser},
		Real: &sandbox.RealNodes{Nodes: 2, Programs: programs, Images: images, Families: strings.ReplaceAll(of.families, " ", "")},
	})
	l.seed, l.shoot = l.connect(l.box.Seed.Kubeconfig), l.connect(l.box.Shoots[0].Kubeconfig)
	l.Expect(install.CRDs(t.Context(), l.seed)).To(Succeed())
	l.Expect(install.Rights(t.Context(), l.seed, configv1alpha1.ModeStandalone, operatorUser, "default")).To(Succeed())
	l.operate()
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
	l.began = time.Now()
	l.Expect(l.seed.Create(l.t.Context(), shoot)).To(Succeed())
}

// change changes the NetworkConfig of the Shoot, as its owner does.
func (l *landscape) change(config string) {
	l.t.Helper()
	l.network.config = config
	changed := map[string]any{}
	l.Expect(yaml.Unmarshal([]byte(l.network.providerConfig()), &changed)).To(Succeed())
	shoot := l.readShoot()
	before := shoot.DeepCopy()
	l.Expect(unstructured.SetNestedMap(shoot.Object, changed, "spec", "networking", "providerConfig")).To(Succeed())
	l.Expect(l.seed.Patch(l.t.Context(), shoot, client.MergeFrom(before))).To(Succeed())
}

// remove deletes the Shoot, and returns how long that took.
func (l *landscape) remove() time.Duration {
	l.t.Helper()
	shoot := l.readShoot()
	before := shoot.DeepCopy()
	annotations := map[string]string{"confirmation.gardener.cloud/deletion": "true"}
	shoot.SetAnnotations(annotations)
	l.Expect(l.seed.Patch(l.t.Context(), shoot, client.MergeFrom(before))).To(Succeed())
	began := time.Now()
	l.Expect(l.seed.Delete(l.t.Context(), shoot)).To(Succeed())
	l.Eventually(func() bool {
		return apierrors.IsNotFound(l.seed.Get(l.t.Context(), shootKey, shoot))
	}).Should(BeTrue(), "the Shoot goes")
	return time.Since(began)
}

func (l *landscape) readShoot() *unstructured.Unstructured {
	l.t.Helper()
	shoot := &unstructured.Unstructured{}
	shoot.SetAPIVersion("core.gardener.cloud/v1beta1")
	shoot.SetKind("Shoot")
	l.Expect(l.seed.Get(l.t.Context(), shootKey, shoot)).To(Succeed())
	return shoot
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
			Plugins: plugins.All(), Providers: providers.All(), Config: config, Seed: api,
			Log: funcr.New(l.operatorLog.add, funcr.Options{}),
		})
	}()
	l.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			l.t.Error(err)
		}
	})
}

// log keeps lines.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, prefix+" "+args)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// status is what the Network's status says.
type status struct {
	// Tests are the results of the connectivity's tests, per IP family where there are two.
	Tests map[string]any `json:"connectivityTests"`
	// conditions are the conditions' states, and messages their messages, by their types.
	conditions, messages map[string]string
}

func (l *landscape) status() status {
	network, read := &extensionsv1alpha1.Network{}, status{conditions: map[string]string{}, messages: map[string]string{}}
	if err := l.seed.Get(l.t.Context(), networkKey, network); err != nil {
		return read
	}
	if network.Status.ProviderStatus != nil {
		l.Expect(yaml.Unmarshal(network.Status.ProviderStatus.Raw, &read)).To(Succeed())
	}
	for _, each := range network.Status.Conditions {
		read.conditions[string(each.Type)], read.messages[string(each.Type)] = string(each.Status), each.Message
	}
	return read
}

// verdict is what the status says of the pods' network and of the components: "True True" if all
// is well, and otherwise with the messages.
func (l *landscape) verdict() string {
	is := l.status()
	words := is.conditions["PodNetworkAvailable"] + " " + is.conditions["SystemComponentsHealthy"]
	if words != allWell {
		words += ": " + is.messages["PodNetworkAvailable"] + "; " + is.messages["SystemComponentsHealthy"]
	}
	return words
}

const allWell = "True True"

// becomesWell waits until the status says that pods talk and all components are healthy.
func (l *landscape) becomesWell() {
	l.t.Helper()
	l.Eventually(l.verdict).Should(Equal(allWell))
	tests := l.status().Tests
	for _, test := range []string{"dns", "nodes", "pods", "services"} {
		l.Expect(tests).To(HaveKeyWithValue(test, true))
	}
}
