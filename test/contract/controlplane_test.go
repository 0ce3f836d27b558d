// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
)

// controlPlane is a control plane in a seed, where Trellis runs as Gardener's extension.
type controlPlane struct {
	*WithT
	t         *testing.T
	seed      *cluster
	shoot     *cluster
	namespace string
	observer  *observer
	gardenlet *gardenlet
	resources *resourceManager
	trellis   *process
	start     func() // starts Trellis, again
	// manager is the process of the resource manager.
	manager  *process
	requests harness.Requests // of Trellis
	// clock is that of all of them.
	clock clock.PassiveClock
}

// at gives a control plane a clock of its own.
func at(passive clock.PassiveClock) func(*controlPlane, *network.Options) {
	return func(p *controlPlane, _ *network.Options) { p.clock = passive }
}

// newControlPlane makes a control plane, and starts Trellis and a resource manager like
// Gardener's for it. change may change what is usual.
func newControlPlane(t *testing.T, in, shoot *cluster, namespace string, change ...func(*controlPlane, *network.Options)) *controlPlane {
	t.Helper()
	p := &controlPlane{WithT: NewWithT(t), t: t, seed: in, shoot: shoot, namespace: namespace, clock: clock.RealClock{}}
	options := network.Options{Trigger: network.TriggerOperation, MaxConcurrentReconciles: 2}
	p.start = func() { p.trellis = p.operator(options) }
	for _, c := range change {
		c(p, &options)
	}
	p.prepare()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var err error
	p.observer, err = watchNetworks(ctx, in.client, namespace, p.hasApplied)
	p.Expect(err).NotTo(HaveOccurred())
	p.gardenlet = &gardenlet{
		Seed: in.client, Name: types.NamespacedName{Namespace: namespace, Name: "network"}, Clock: p.clock,
		Spec:     map[string]any{"type": "example", "podCIDR": "10.1.0.0/16", "serviceCIDR": "10.2.0.0/16"},
		Patience: gardenerWaitTimes(p.observer.next),
	}
	p.manager = p.resourceManager()
	p.start()
	t.Cleanup(func() {
		p.trellis.stop()
		p.manager.stop()
		if lies := p.observer.allLies(); len(lies) > 0 || t.Failed() {
			t.Errorf("the Network in %s misled: %q; its versions:\n%s", in.schemas, lies, p.observer.story())
		}
	})
	return p
}

// prepare makes what a gardenlet makes before it comes to the Network.
func (p *controlPlane) prepare() {
	p.Expect(p.seed.client.Create(p.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: p.namespace, Labels: map[string]string{"gardener.cloud/role": "shoot"},
	}})).To(Succeed())
	p.seed.client.PutAccess(p.t, p.namespace, p.shoot.client.Kubeconfig)
	p.cluster(func(*corev1beta1.Shoot) {})
}

// cluster makes, or changes, the Cluster with the Shoot that change makes of a plain
// one.
func (p *controlPlane) cluster(change func(*corev1beta1.Shoot)) {
	p.t.Helper()
	s := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "network", Namespace: "garden-test"}}
	change(s)
	p.seed.client.PutShoot(p.t, p.namespace, s)
}

// process is a manager that runs until it is stopped.
type process struct{ stop func() }

// run starts a manager for the control plane, with what add adds to it.
func (p *controlPlane) run(requests *harness.Requests, add func(ctrl.Manager) error) *process {
	return &process{stop: p.seed.client.Run(p.t, []string{p.namespace}, requests, add)}
}

// operator starts Trellis as in a Gardener landscape: the operation annotation
// triggers, and Trellis applies no ManagedResources.
func (p *controlPlane) operator(options network.Options) *process {
	return p.run(&p.requests, func(mgr ctrl.Manager) (err error) {
		if options.Pipeline, err = pipeline.New([]plugin.Plugin{plugin.New(examplePlugin{})}, nil); err != nil {
			return err
		}
		shoots := shootclient.New(shootclient.Options{Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader()})
		options.Shoots = shoots
		if options.Clock == nil {
			options.Clock = p.clock
		}
		return errors.Join(
			mgr.Add(shoots),
			network.Add(mgr, options),
			networkstatus.Add(mgr, networkstatus.Options{
				Clients: shoots, Clock: clock.RealClock{}, Period: time.Minute, ProgressingThreshold: 5 * time.Minute, MaxConcurrentReconciles: 1,
			}),
		)
	})
}

// requestsAbout returns Trellis' requests about objects of a group in the control plane.
func (p *controlPlane) requestsAbout(group string) []string {
	return p.requests.All("/"+group+"/", "/namespaces/"+p.namespace+"/")
}

// resourceManager starts Gardener's, for both classes.
func (p *controlPlane) resourceManager() *process {
	return p.run(nil, func(mgr ctrl.Manager) (err error) {
		options := resourceManagerOptions{Target: p.shoot.client, Again: 100 * time.Millisecond, Clock: p.clock}
		if p.resources, err = addResourceManager(mgr, options); err != nil {
			return err
		}
		options.Target, options.Class = p.seed.client, "seed"
		_, err = addResourceManager(mgr, options)
		return err
	})
}

// hasApplied reports whether the resource manager has applied what a spec states.
func (p *controlPlane) hasApplied(spec extensionsv1alpha1.NetworkSpec) bool {
	config := exampleConfig{Mode: "first"}
	if spec.ProviderConfig != nil {
		_ = json.Unmarshal(spec.ProviderConfig.Raw, &config)
	}
	for _, pass := range p.resources.Applied() {
		for _, object := range pass.Objects {
			content, _, _ := unstructured.NestedString(object.Object, "data", "content")
			if object.GetName() == p.namespace+"-mode" && content == config.Mode && object.GetLabels()["extra"] == config.Extra {
				return true
			}
		}
	}
	return false
}

// wants changes the providerConfig that the gardenlet deploys.
func (p *controlPlane) wants(keysAndValues ...string) {
	config := map[string]any{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		config[keysAndValues[i]] = keysAndValues[i+1]
	}
	p.gardenlet.Spec["providerConfig"] = config
}

// deploys has the gardenlet write the Network. Only what happens from then on is
// what it waits for.
func (p *controlPlane) deploys() {
	p.t.Helper()
	p.observer.forget()
	p.Expect(p.gardenlet.Deploy(p.t.Context())).To(Succeed())
}

// ready has the gardenlet wait.
func (p *controlPlane) ready() {
	p.t.Helper()
	p.Expect(p.gardenlet.WaitReady(p.t.Context())).To(Succeed())
}

// now is the Network as it is.
func (p *controlPlane) now() *extensionsv1alpha1.Network {
	p.t.Helper()
	n := &extensionsv1alpha1.Network{}
	p.Expect(p.seed.client.Get(p.t.Context(), p.gardenlet.Name, n)).To(Succeed())
	return n
}

// standstill makes the gardenlet's time pass without anything happening: each poll
// shows the Network as it is.
func (p *controlPlane) standstill() (goOn func()) {
	before := p.gardenlet.Patience
	p.gardenlet.Patience = gardenerWaitTimes(func(ctx context.Context) (*unstructured.Unstructured, error) {
		n := &unstructured.Unstructured{}
		n.SetGroupVersionKind(extensionsv1alpha1.GroupVersion.WithKind("Network"))
		return n, p.seed.client.Get(ctx, p.gardenlet.Name, n)
	})
	return func() { p.gardenlet.Patience = before }
}

// becomes waits until the Network's last operation is in a state.
func (p *controlPlane) becomes(operation, state string) *extensionsv1alpha1.Network {
	p.t.Helper()
	n := &extensionsv1alpha1.Network{}
	p.Eventually(func(g Gomega) {
		g.Expect(p.seed.client.Get(p.t.Context(), p.gardenlet.Name, n)).To(Succeed())
		g.Expect(n.Status.LastOperation).NotTo(BeNil())
		g.Expect(string(n.Status.LastOperation.Type) + "/" + string(n.Status.LastOperation.State)).To(Equal(operation + "/" + state))
		g.Expect(n.Annotations[extensionsv1alpha1.OperationAnnotation]).NotTo(Equal("reconcile"))
	}).Should(Succeed())
	return n
}

// inShoot reads one of the network's objects.
func inShoot[T client.Object](p *controlPlane, object T) T {
	p.t.Helper()
	p.Expect(p.shoot.client.Get(p.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// mode is what the shoot has.
func (p *controlPlane) mode() string {
	p.t.Helper()
	return inShoot(p, configMap(p.namespace, "mode", "")).Data["content"]
}

func (p *controlPlane) isGone(c client.Client, object client.Object) bool {
	return apierrors.IsNotFound(c.Get(p.t.Context(), client.ObjectKeyFromObject(object), object))
}
