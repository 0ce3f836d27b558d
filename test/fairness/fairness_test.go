// SPDX-License-Identifier: Apache-2.0

package fairness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/managedresource"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	shoots = 50
	// objects is how many each shoot's ManagedResource has.
	objects = 6
	// rounds is how often the content of all ManagedResources changes, without and
	// with faults.
	rounds = 5
	// patience bounds a round.
	patience = 2 * time.Minute
)

// faults are those of the last shoots, which are not measured.
var faults = []fault{blackHole, tooMany, slow, expired}

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/all"}})

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(landscape.Main(m))
}

// BenchmarkFairness changes what fifty shoots shall have, and measures how long it
// takes each of them to have it: while all answer, and while four of them do not,
// each in another way.
func BenchmarkFairness(b *testing.B) {
	l := newLandscape(b)
	l.change(b, nil) // the first contact is not measured
	var calm, faulty []time.Duration
	for range rounds {
		calm = append(calm, l.change(b, nil)...)
		faulty = append(faulty, l.change(b, faults)...)
	}
	report := func(name string, times []time.Duration) time.Duration {
		slices.Sort(times)
		b.ReportMetric(times[len(times)/2].Seconds()*1000, "ms-median-"+name)
		high := times[len(times)*95/100]
		b.ReportMetric(high.Seconds()*1000, "ms-95th-"+name)
		return high
	}
	without, with := report("without-faults", calm), report("with-faults", faulty)
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-95th")
	b.ReportMetric(0, "ns/op")
}

// fleet is many shoots, whose part one API server plays.
type fleet struct {
	seed    client.Client
	gates   []*gate
	round   int
	applied chan applied
}

func name(i int) string { return fmt.Sprintf("shoot--fleet--%d", i) }

func newLandscape(b *testing.B) *fleet {
	b.Helper()
	g := NewWithT(b)
	box := landscape.Get(b)
	config, err := clientcmd.BuildConfigFromFlags("", box.Seed.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	l := &fleet{applied: make(chan applied, 100*shoots)}
	l.seed, err = client.New(config, client.Options{Scheme: seed.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(install.CRDs(b.Context(), l.seed)).To(Succeed())
	shoot, err := clientcmd.BuildConfigFromFlags("", box.Shoots[0].Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	shoot.QPS = -1
	for i := range shoots {
		gate, err := newGate(shoot)
		g.Expect(err).NotTo(HaveOccurred())
		b.Cleanup(gate.server.CloseClientConnections)
		kubeconfig, err := gate.kubeconfig()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(l.seed.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}})).To(Succeed())
		g.Expect(l.seed.Create(b.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: shootclient.SecretName, Namespace: name(i)},
			Data:       map[string][]byte{shootclient.SecretKey: kubeconfig},
		})).To(Succeed())
		l.gates = append(l.gates, gate)
	}
	l.run(b)
	return l
}

// run runs the resource manager as the operator does by default.
func (l *fleet) run(b *testing.B) {
	g := NewWithT(b)
	settings, err := configv1alpha1.Load(nil)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", landscape.Get(b).Seed.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Burst = settings.ClientConnection.QPS, settings.ClientConnection.Burst
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: seed.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Client: seed.ClientOptions(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	clients := shootclient.New(shootclient.Options{
		Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
		QPS: settings.ShootClientConnection.QPS, Burst: settings.ShootClientConnection.Burst,
	})
	g.Expect(mgr.Add(clients)).To(Succeed())
	g.Expect(managedresource.Add(mgr, managedresource.Options{
		Shoots: clients, SyncPeriod: settings.Controllers.ManagedResource.SyncPeriod.Duration,
		MaxConcurrentReconciles: settings.Controllers.ManagedResource.ConcurrentSyncs, Clock: clock.RealClock{},
	})).To(Succeed())
	informer, err := mgr.GetCache().GetInformer(b.Context(), &resourcesv1alpha1.ManagedResource{}, cache.BlockUntilSynced(false))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, after any) { l.tell(after) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	b.Cleanup(func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	})
}

// change gives all shoots new content, with the last of them faulty, and returns
// how long each of the others took to have it.
func (l *fleet) change(b *testing.B, with []fault) []time.Duration {
	b.Helper()
	g := NewWithT(b)
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	l.round++
	for i, gate := range l.gates[shoots-len(faults):] {
		if with == nil {
			gate.become(none)
		} else {
			gate.become(with[i])
		}
	}
	for i := range shoots {
		g.Expect(l.seed.Create(ctx, l.content(i))).To(Succeed())
	}
	began := make([]time.Time, shoots)
	var all sync.WaitGroup
	defer all.Wait()
	for i := range shoots {
		began[i] = time.Now()
		all.Go(func() {
			if err := l.point(ctx, i); err != nil {
				b.Error(err)
			}
		})
	}
	took := map[int]time.Duration{}
	for len(took) < shoots-len(faults) {
		select {
		case <-ctx.Done():
			b.Fatalf("after %v %d of %d shoots have what they shall", patience, len(took), shoots-len(faults))
		case one := <-l.applied:
			if _, known := took[one.shoot]; !known && one.secret == l.secretName() && one.shoot < shoots-len(faults) {
				took[one.shoot] = one.at.Sub(began[one.shoot])
			}
		}
	}
	return slices.Collect(maps.Values(took))
}

func (l *fleet) secretName() string { return fmt.Sprintf("content-%d", l.round) }

// content is what a shoot shall have in this round.
func (l *fleet) content(i int) *corev1.Secret {
	documents := []string{fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name(i))}
	for n := range objects {
		documents = append(documents, fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":%q},"data":{"round":"%d"}}`, n, name(i), l.round))
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: l.secretName(), Namespace: name(i)},
		Data:       map[string][]byte{"objects.json": []byte(strings.Join(documents, "\n---\n"))},
	}
}

// point makes a shoot's ManagedResource refer to the content of this round.
func (l *fleet) point(ctx context.Context, i int) error {
	mr := &resourcesv1alpha1.ManagedResource{
		ObjectMeta: metav1.ObjectMeta{Name: "content", Namespace: name(i)},
		Spec:       resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: l.secretName()}}},
	}
	if l.round == 1 {
		return l.seed.Create(ctx, mr)
	}
	refer := fmt.Sprintf(`{"spec":{"secretRefs":[{"name":%q}]}}`, l.secretName())
	return l.seed.Patch(ctx, mr, client.RawPatch(types.MergePatchType, []byte(refer)))
}

// applied is the news that a shoot has what a Secret says.
type applied struct {
	shoot  int
	secret string
	at     time.Time
}

// tell passes on such news.
func (l *fleet) tell(object any) {
	mr, ok := object.(*resourcesv1alpha1.ManagedResource)
	if !ok || mr.Status.ObservedGeneration != mr.Generation {
		return
	}
	news := applied{secret: mr.Spec.SecretRefs[0].Name, at: time.Now()}
	if _, err := fmt.Sscanf(mr.Namespace, "shoot--fleet--%d", &news.shoot); err != nil {
		return
	}
	for _, c := range mr.Status.Conditions {
		if c.Type == resourcesv1alpha1.ResourcesApplied && c.Status == corev1beta1.ConditionTrue {
			l.applied <- news
		}
	}
}
