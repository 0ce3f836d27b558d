// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/controller/networkstatus"
	"github.com/trellis-network/trellis/internal/seedclient"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
)

// fleet is many shoots, each with a network. All shoots are the same API server, and each has
// a gate in front of it.
type fleet struct {
	*WithT
	ctx   context.Context
	seed  *harness.Cluster
	gates []*gate
	round int
	news  chan news
}

func name(i int) string { return fmt.Sprintf("shoot--fleet--%d", i) }

// newFleet creates shoots, but no networks and no operator.
func newFleet(tb testing.TB, size int, seedKubeconfig, shootKubeconfig string) *fleet {
	tb.Helper()
	l := &fleet{WithT: NewWithT(tb), ctx: tb.Context(), news: make(chan news, 100*size)}
	var err error
	l.seed, err = harness.Connect(seedKubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(install.CRDs(l.ctx, l.seed)).To(Succeed())
	shoot, err := clientcmd.BuildConfigFromFlags("", shootKubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	shoot.QPS = -1
	spec, err := json.Marshal(&corev1beta1.Shoot{TypeMeta: metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"}})
	l.Expect(err).NotTo(HaveOccurred())
	for i := range size {
		gate, err := newGate(shoot, name(i))
		l.Expect(err).NotTo(HaveOccurred())
		tb.Cleanup(gate.server.CloseClientConnections)
		kubeconfig, err := gate.kubeconfig()
		l.Expect(err).NotTo(HaveOccurred())
		l.gates = append(l.gates, gate)
		for _, object := range []client.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}},
			&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: shootclient.SecretName, Namespace: name(i)},
				Data:       map[string][]byte{shootclient.SecretKey: kubeconfig},
			},
			&extensionsv1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: name(i)},
				Spec: extensionsv1alpha1.ClusterSpec{
					CloudProfile: runtime.RawExtension{Raw: []byte(`{}`)}, Shoot: runtime.RawExtension{Raw: spec},
				},
			},
		} {
			l.Expect(l.seed.Create(l.ctx, object)).To(Succeed())
		}
	}
	return l
}

// run runs the controllers as the operator does, with these settings.
func (l *fleet) run(tb testing.TB, seedKubeconfig string, settings *configv1alpha1.OperatorConfiguration, adjust func(*shootclient.Options)) {
	tb.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", seedKubeconfig)
	l.Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Burst = settings.ClientConnection.QPS, settings.ClientConnection.Burst
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: seedclient.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Client: seedclient.Options(),
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	l.Expect(err).NotTo(HaveOccurred())
	options := shootclient.Options{
		Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
		QPS: settings.ShootClientConnection.QPS, Burst: settings.ShootClientConnection.Burst,
	}
	adjust(&options)
	shoots := shootclient.New(options)
	l.Expect(mgr.Add(shoots)).To(Succeed())
	built, err := pipeline.New([]plugin.Plugin{plugin.New(examplePlugin{})}, nil)
	l.Expect(err).NotTo(HaveOccurred())
	controllers := &settings.Controllers
	l.Expect(network.Add(mgr, network.Options{
		Pipeline: built, Trigger: network.TriggerGeneration, Standalone: true, Shoots: shoots,
		MaxConcurrentReconciles: controllers.Network.ConcurrentSyncs, Clock: clock.RealClock{},
	})).To(Succeed())
	l.Expect(managedresource.Add(mgr, managedresource.Options{
		Shoots: shoots, SyncPeriod: controllers.ManagedResource.SyncPeriod.Duration,
		MaxConcurrentReconciles: controllers.ManagedResource.ConcurrentSyncs,
	})).To(Succeed())
	l.Expect(networkstatus.Add(mgr, networkstatus.Options{
		Clients: shoots, Clock: clock.RealClock{}, Period: controllers.Health.SyncPeriod.Duration,
		ProgressingThreshold:    controllers.Health.ProgressingThreshold.Duration,
		MaxConcurrentReconciles: controllers.Health.ConcurrentSyncs,
	})).To(Succeed())
	informer, err := mgr.GetCache().GetInformer(l.ctx, &extensionsv1alpha1.Network{}, cache.BlockUntilSynced(false))
	l.Expect(err).NotTo(HaveOccurred())
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, after any) { l.send(after) }})
	l.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// config is the providerConfig of a round.
func (l *fleet) config() []byte { return fmt.Appendf(nil, `{"round":%d}`, l.round) }

// update creates or changes a shoot's network for this round.
func (l *fleet) update(ctx context.Context, i int) error {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: name(i)},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "example", ProviderConfig: &runtime.RawExtension{Raw: l.config()},
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	if l.round == 1 {
		return l.seed.Create(ctx, n)
	}
	return l.seed.Patch(ctx, n, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"providerConfig":%s}}`, l.config())))
}

// news is a change of a shoot's Network: the round of its spec, and what its status reports.
type news struct {
	shoot, round  int
	done, healthy bool
	at            time.Time
}

// send sends the news of a changed Network.
func (l *fleet) send(object any) {
	n, ok := object.(*extensionsv1alpha1.Network)
	if !ok {
		return
	}
	change := news{at: time.Now()}
	config := exampleConfig{}
	if _, err := fmt.Sscanf(n.Namespace, "shoot--fleet--%d", &change.shoot); err != nil || json.Unmarshal(n.Spec.ProviderConfig.Raw, &config) != nil {
		return
	}
	change.round = config.Round
	last := n.Status.LastOperation
	change.done = last != nil && last.State == corev1beta1.LastOperationStateSucceeded && n.Status.ObservedGeneration == n.Generation
	for _, c := range n.Status.Conditions {
		change.healthy = change.healthy || c.Status == corev1beta1.ConditionTrue
	}
	l.news <- change
}
