// SPDX-License-Identifier: Apache-2.0

// Package e2e shows the whole way: a user's Shoot, the operator as a process of
// its own with its least-privilege identity, a real seed and a real shoot.
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
	// asOperator, in the environment, makes the test's program the operator.
	asOperator = "TRELLIS_E2E_OPERATOR_KUBECONFIG"
	// operatorConfig and operatorAudit, in the same place, are its configuration and
	// a file for the requests that it writes with, if they are set.
	operatorConfig = "TRELLIS_E2E_OPERATOR_CONFIG"
	operatorAudit  = "TRELLIS_E2E_OPERATOR_AUDIT"
	// withoutPorts is the configuration of operators that run side by side.
	withoutPorts = `{metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}}`
	// patience is how long a deletion may take; see gone.
	patience = 5 * time.Minute
)

// landscape is a sandbox that one test at a time has for itself.
type landscape struct {
	*sandbox.Shared
	taken sync.Mutex
}

// Several of them, since most of the time is spent with waiting: Kubernetes' garbage
// collector takes half a minute for what a Shoot leaves. See world.gone.
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

// runner is what runs before a landscape is torn down.
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
	// Those that wait for a landscape must not keep others from running.
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

// runOperator is cmd/trellis-operator with a configuration for tests.
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

// world is the landscape as an admin sees it.
type world struct {
	*WithT
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot cluster
	named       map[string]cluster // see shootNamed
	operator    *exec.Cmd
}

// cluster is a cluster as an admin sees it.
type cluster struct {
	client.Client
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

// setup takes a landscape, installs what an operator needs and starts it. The test
// must leave no Shoot behind.
func setup(t *testing.T, in *landscape) *world {
	t.Helper()
	w := arrive(t, in)
	w.startOperator()
	t.Cleanup(func() {
		if t.Failed() {
			w.tell()
			w.leaveNothing()
		}
		w.stopOperator(syscall.SIGTERM)
		if t.Failed() {
			log, _ := os.ReadFile(w.log())
			t.Logf("the operator's log:\n%s", log[max(0, len(log)-20000):])
		}
	})
	return w
}

// arrive takes a landscape and installs what an operator needs.
func arrive(t *testing.T, in *landscape) *world {
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

// leaveNothing keeps a failed test from failing those after it.
func (w *world) leaveNothing() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	shoot := &corev1beta1.Shoot{}
	shoot.Namespace, shoot.Name = "garden-dev", "johndoe-azure"
	_ = w.seed.Delete(ctx, shoot)
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(w.seed.Get(ctx, client.ObjectKeyFromObject(shoot), shoot)), nil
	})
}

// tell prints how things stand in the seed.
func (w *world) tell() {
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

// install does what the installation guide says.
func (w *world) install() {
	w.Expect(install.CRDs(w.t.Context(), w.seed)).To(Succeed())
	w.Expect(install.Policies(w.t.Context(), w.seed)).To(Succeed())
	w.Expect(install.Rights(w.t.Context(), w.seed, operatorUser)).To(Succeed())
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

// stopOperator ends the operator's process with a signal and waits for its end.
func (w *world) stopOperator(signal syscall.Signal) {
	_ = w.operator.Process.Signal(signal)
	_ = w.operator.Wait()
}

// johndoe is the seeds' Shoot, with its networking changed.
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

// succeeds waits until the Shoot, as it is now, is carried out and healthy.
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

// gone waits until the Shoot is gone. Kubernetes' garbage collector pauses, for
// half a minute and more, when the kinds of a cluster change while it learns of
// them, and a network brings many kinds; so this may take a while.
func (w *world) gone() {
	w.t.Helper()
	begin, told := time.Now(), false
	w.Eventually(func() error {
		if time.Since(begin) > time.Minute && !told {
			told = true
			w.tell()
		}
		shoot := &corev1beta1.Shoot{}
		err := w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(w.johndoe()), shoot)
		if err == nil {
			return fmt.Errorf("it is still there: %+v", shoot.Status.LastOperation)
		}
		return client.IgnoreNotFound(err)
	}).WithTimeout(patience).Should(Succeed())
}
