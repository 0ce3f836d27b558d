// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Trellis as a whole: a user's Shoot, the operator as a process of its own
// with the least privileges it needs, a real seed and a real shoot.
package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	operatorUser = "trellis-operator"
	// asOperator is an environment variable with the operator's kubeconfig. If it is set, the
	// test program runs the operator.
	asOperator = "TRELLIS_E2E_OPERATOR_KUBECONFIG"
	// operatorConfig and operatorAudit are optional environment variables: the operator's
	// configuration, and the file of its audit.
	operatorConfig = "TRELLIS_E2E_OPERATOR_CONFIG"
	operatorAudit  = "TRELLIS_E2E_OPERATOR_AUDIT"
	// withoutPorts is the configuration of operators that run on the same machine.
	withoutPorts = `{mode: Standalone, metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}}`
	// patience is the time that a deletion may take. See gone.
	patience = 5 * time.Minute
)

// landscape is a sandbox that one test at a time uses alone.
type landscape struct {
	*sandbox.Shared
	taken sync.Mutex
}

// Several landscapes let tests run in parallel. Most of the time they wait: after the deletion
// of a Shoot, Kubernetes' garbage collector takes half a minute. See world.gone.
var (
	forKills, forNamespaces, forOthers = newLandscape(3, "johndoe-azure"), newLandscape(3, "johndoe-azure"), newLandscape(3, "johndoe-azure")

	forNetworks = newLandscape(1, slices.Sorted(maps.Keys(networks))...)
)

func newLandscape(nodes int, shoots ...string) *landscape {
	for i := range shoots {
		shoots[i] = "garden-dev/" + shoots[i]
	}
	return &landscape{Shared: sandbox.Share(sandbox.Options{Shoots: shoots, Nodes: nodes, Users: []string{operatorUser}})}
}

// runner is a function for Shared.Main to run before it stops the sandbox.
type runner func() int

func (r runner) Run() int { return r() }

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(asOperator); kubeconfig != "" {
		if err := runOperator(kubeconfig); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	// Tests that wait for a landscape must not block tests that have one.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	run := m.Run
	for _, each := range []*landscape{forKills, forNamespaces, forOthers, forNetworks} {
		inner := run
		run = func() int { return each.Main(runner(inner)) }
	}
	os.Exit(run())
}

// runOperator runs the operator as cmd/trellis-operator does, with a configuration for tests.
func runOperator(kubeconfig string) error {
	api, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	settings := cmp.Or(os.Getenv(operatorConfig), withoutPorts)
	config, err := configv1alpha1.Load([]byte(settings))
	if err != nil {
		return err
	}
	if err := audit(api, os.Getenv(operatorAudit)); err != nil {
		return err
	}
	return operator.Run(ctrl.SetupSignalHandler(), operator.Options{
		Plugins: plugins.All(), Providers: providers.All(), Config: config, Seed: api, Log: zap.New(),
	})
}

// world is a test's view of its landscape, with an administrator's rights.
type world struct {
	*WithT
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot cluster
	named       map[string]cluster // see shootNamed
	operator    *exec.Cmd
}

// cluster has an administrator's clients of a cluster.
type cluster struct {
	client.Client
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

// setup reserves a landscape, installs what the operator needs, and starts the operator. The
// test must delete its Shoots.
func setup(t *testing.T, in *landscape) *world {
	t.Helper()
	w := setupWithoutOperator(t, in)
	w.startOperator()
	t.Cleanup(func() {
		if t.Failed() {
			w.logSeed()
			w.cleanUp()
		}
		w.stopOperator(syscall.SIGTERM)
		if t.Failed() {
			log, _ := os.ReadFile(w.log())
			t.Logf("the operator's log:\n%s", log[max(0, len(log)-20000):])
		}
	})
	return w
}

// setupWithoutOperator reserves a landscape and installs what the operator needs.
func setupWithoutOperator(t *testing.T, in *landscape) *world {
	t.Helper()
	t.Parallel()
	in.taken.Lock()
	t.Cleanup(in.taken.Unlock)
	w := &world{WithT: NewWithT(t), t: t, box: in.Get(t), named: map[string]cluster{}}
	w.seed = w.connect(w.box.Seed.Kubeconfig)
	w.shoot = w.connect(w.box.Shoots[0].Kubeconfig)
	w.install()
	return w
}

// cleanUp deletes the Shoot after a failed test, so that the next tests do not fail too.
func (w *world) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	shoot := &corev1beta1.Shoot{}
	shoot.Namespace, shoot.Name = "garden-dev", "johndoe-azure"
	_ = w.seed.Delete(ctx, shoot)
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(w.seed.Get(ctx, client.ObjectKeyFromObject(shoot), shoot)), nil
	})
}

// logSeed logs the Networks and ManagedResources in the seed.
func (w *world) logSeed() {
	networks, managed := &extensionsv1alpha1.NetworkList{}, &resourcesv1alpha1.ManagedResourceList{}
	for _, list := range []client.ObjectList{networks, managed} {
		_ = w.seed.List(context.Background(), list)
		text, _ := yaml.Marshal(list)
		w.t.Logf("%T:\n%s", list, text)
	}
}

func (w *world) connect(kubeconfig string) cluster {
	c, err := harness.Connect(kubeconfig)
	w.Expect(err).NotTo(HaveOccurred())
	return cluster{Client: c, dynamic: dynamic.NewForConfigOrDie(c.Config), discovery: discovery.NewDiscoveryClientForConfigOrDie(c.Config)}
}

// install creates what docs/run-standalone.md creates: CRDs, policies, and the operator's rights.
func (w *world) install() {
	w.Expect(install.CRDs(w.t.Context(), w.seed)).To(Succeed())
	w.Expect(install.Policies(w.t.Context(), w.seed)).To(Succeed())
	w.Expect(install.Rights(w.t.Context(), w.seed, configv1alpha1.ModeStandalone, operatorUser, "default")).To(Succeed())
}

func read(w *world, file string) *unstructured.Unstructured {
	document, err := os.ReadFile(file)
	w.Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{}
	w.Expect(yaml.Unmarshal(document, &object.Object)).To(Succeed())
	return object
}

func (w *world) log() string { return filepath.Join(w.box.Dir, "operator-"+w.t.Name()+".log") }

func (w *world) startOperator() {
	log, err := os.OpenFile(w.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	w.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	w.operator = exec.Command(os.Args[0])
	w.operator.Env = append(os.Environ(), asOperator+"="+w.box.Seed.Users[operatorUser])
	w.operator.Stdout, w.operator.Stderr = log, log
	w.Expect(w.operator.Start()).To(Succeed())
}

// stopOperator sends a signal to the operator's process and waits for its end.
func (w *world) stopOperator(signal syscall.Signal) {
	_ = w.operator.Process.Signal(signal)
	_ = w.operator.Wait()
}

// johndoe returns the Shoot in examples/, with changes of its providerConfig.
func (w *world) johndoe(change ...func(providerConfig map[string]any)) *unstructured.Unstructured {
	shoot := read(w, "../../examples/shoot-johndoe-azure.yaml")
	config, _, err := unstructured.NestedMap(shoot.Object, "spec", "networking", "providerConfig")
	w.Expect(err).NotTo(HaveOccurred())
	for _, c := range change {
		c(config)
	}
	w.Expect(unstructured.SetNestedMap(shoot.Object, config, "spec", "networking", "providerConfig")).To(Succeed())
	return shoot
}

// apply creates or changes a Shoot as kubectl apply does.
func (w *world) apply(shoot *unstructured.Unstructured) {
	w.Expect(w.seed.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(shoot.DeepCopy()),
		client.FieldOwner("kubectl"), client.ForceOwnership)).To(Succeed())
}

func (w *world) johndoeNow() *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{}
	w.Expect(w.seed.Get(w.t.Context(), client.ObjectKey{Namespace: "garden-dev", Name: "johndoe-azure"}, shoot)).To(Succeed())
	return shoot
}

func (w *world) network() *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{}
	w.Expect(w.seed.Get(w.t.Context(), client.ObjectKey{Namespace: "shoot--dev--johndoe-azure", Name: "johndoe-azure"}, n)).To(Succeed())
	return n
}

// succeeds waits until the operator has reconciled the present generation of the Shoot, and
// the Shoot is healthy.
func (w *world) succeeds() {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		shoot := w.johndoeNow()
		g.Expect(shoot.Status.ObservedGeneration).To(Equal(shoot.Generation))
		g.Expect(shoot.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
		g.Expect(shoot.Status.Conditions).To(ContainElement(And(
			HaveField("Type", "SystemComponentsHealthy"), HaveField("Status", corev1beta1.ConditionTrue))))
	}).Should(Succeed())
}

// delete deletes the Shoot and waits until it is gone.
func (w *world) delete() {
	w.t.Helper()
	w.Expect(client.IgnoreNotFound(w.seed.Delete(w.t.Context(), w.johndoe()))).To(Succeed())
	w.gone()
}

// gone waits until the Shoot is deleted. This may take a while: a network has many CRDs, and
// Kubernetes' garbage collector pauses for half a minute and more if the kinds of a cluster
// change while it discovers them.
func (w *world) gone() {
	w.t.Helper()
	start, logged := time.Now(), false
	w.Eventually(func() error {
		if time.Since(start) > time.Minute && !logged {
			logged = true
			w.logSeed()
		}
		shoot := &corev1beta1.Shoot{}
		err := w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(w.johndoe()), shoot)
		if err == nil {
			return fmt.Errorf("the Shoot still exists: %+v", shoot.Status.LastOperation)
		}
		return client.IgnoreNotFound(err)
	}).WithTimeout(patience).Should(Succeed())
}
