// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The second shoot's API server is also the seed of a Gardener landscape.
var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/first", "garden-dev/second"}, Nodes: 1, AuditPolicy: harness.AuditPolicy})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// landscapeSeed returns an API server with what a seed of a Gardener landscape has.
func landscapeSeed(t *testing.T) *harness.Cluster {
	t.Helper()
	cluster := landscape.Get(t).Shoots[1]
	seed, err := harness.Connect(cluster.Kubeconfig)
	if err == nil {
		seed.AuditLog = cluster.AuditLog
		err = install.Gardener(t.Context(), seed)
	}
	if err == nil {
		err = install.CRD(t.Context(), seed, "extensions.gardener.cloud_infrastructures")
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return seed
}

// patience is how long a deletion may take: Kubernetes' garbage collector pauses for half a
// minute if the kinds of a cluster change.
const patience = 5 * time.Minute

// installed is an operator that a release of the chart installs in a namespace of its own.
type installed struct {
	*WithT
	t         *testing.T
	seed      *harness.Cluster
	namespace string
	// user is that of the chart's service account, or another one to which the test gives rights.
	user    string
	options operator.Options
	// values are those of the chart, YAML. They can change while the operator is stopped.
	values string
	// edit changes the configuration of the chart, unless it is nil.
	edit    func(*configv1alpha1.OperatorConfiguration)
	service string // by which the seed's API server calls webhooks; or else by a URL
	address string // that the Service leads to
	// granted are the rights that the releases of the chart gave, and usage those that were used.
	granted sets.Set[harness.Right]
	usage   *harness.Usage
	log     harness.Lines
	stop    func()
}

// newInstalled returns an operator whose namespace it creates.
func newInstalled(t *testing.T, seed *harness.Cluster, namespace, values string, plugins []plugin.Plugin) *installed {
	t.Helper()
	user := "system:serviceaccount:" + namespace + ":trellis-operator"
	o := &installed{
		WithT: NewWithT(t), t: t, seed: seed, namespace: namespace, user: user,
		options: operator.Options{Plugins: plugins}, values: values, granted: sets.New[harness.Right](), usage: seed.NewUsage(t, user, namespace),
	}
	o.create(namespaceNamed(namespace))
	return o
}

// start installs the chart, and starts the operator's process, so to speak, with the rights of its
// user and the configuration of the chart. As it runs in no pod, that also states its namespace and its
// address.
func (o *installed) start() {
	o.t.Helper()
	rights, config := o.installs(o.values)
	o.granted = o.granted.Union(rights)
	config.Metrics.BindAddress, config.HealthProbes.BindAddress = "0", "0"
	config.LeaderElection.ResourceNamespace, config.Heartbeat.Namespace, config.Webhooks.Namespace = o.namespace, o.namespace, o.namespace
	config.ShootClientConnection.AllowedAddresses = []string{"127.0.0.0/8"}
	config.Webhooks.BindAddress, config.Webhooks.ServiceName = o.address, o.service
	if o.service == "" {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		o.Expect(err).NotTo(HaveOccurred())
		config.Webhooks.BindAddress = free.Addr().String()
		config.Webhooks.URL = "https://" + config.Webhooks.BindAddress
		o.Expect(free.Close()).To(Succeed())
	}
	if o.edit != nil {
		o.edit(config)
	}
	options := o.options
	options.Config = config
	options.Seed = rest.CopyConfig(o.seed.Config)
	options.Seed.Impersonate.UserName = o.user
	options.Providers, options.Log = providers.All(), o.log.Logger()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx, options) }()
	running := true
	o.stop = func() {
		if running {
			running = false
			cancel()
			o.Expect(<-ended).To(Succeed())
		}
	}
	o.t.Cleanup(o.stop)
}

func (o *installed) create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		o.Expect(o.seed.Create(o.t.Context(), object)).To(Succeed())
	}
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// shootOf returns the Shoot for a cluster of the sandbox, with a type of networks.
func shootOf(name, networkType string) *corev1beta1.Shoot {
	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: name}}
	shoot.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 2}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Networking = &corev1beta1.Networking{
		Type: &networkType, Pods: new("100.64.0.0/12"), Services: new("100.96.0.0/13"), Nodes: new("10.250.0.0/16"),
	}
	return shoot
}

// succeeds waits until the present generation of a Shoot is reconciled.
func (o *installed) succeeds(shoot *corev1beta1.Shoot) {
	o.t.Helper()
	o.Eventually(func(g Gomega) {
		g.Expect(o.seed.Get(o.t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
		g.Expect(shoot.Status.ObservedGeneration).To(Equal(shoot.Generation))
		g.Expect(shoot.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}).Should(Succeed(), func() string { return fmt.Sprint(o.usage.Refused()) })
}

// isGone waits until an object does not exist.
func (o *installed) isGone(object client.Object) {
	o.t.Helper()
	o.Eventually(func() error { return o.seed.Get(o.t.Context(), client.ObjectKeyFromObject(object), object) }).WithTimeout(patience).
		Should(MatchError(ContainSubstring("not found")))
}

func (o *installed) delete(object client.Object) {
	o.t.Helper()
	o.Expect(o.seed.Delete(o.t.Context(), object)).To(Succeed())
	o.isGone(object)
}
