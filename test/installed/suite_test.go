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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The second shoot's API server is also the seed of a Gardener landscape.
var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/first", "garden-dev/second"}, Nodes: 1})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// patience is how long a deletion may take: Kubernetes' garbage collector pauses for half a
// minute if the kinds of a cluster change.
const patience = 5 * time.Minute

// installed is an operator with a user and a namespace of its own.
type installed struct {
	*WithT
	t         *testing.T
	seed      *harness.Cluster
	mode      configv1alpha1.Mode // empty: detected
	user      string
	namespace string
	options   operator.Options
	settings  string // more fields of the operator's configuration
	networks  bool   // webhooks.networks of it
	service   string // webhooks.serviceName of it, by which the seed's API server calls webhooks; or else by a URL
	address   string // that the Service leads to
	usage     *usage
	log       harness.Lines
	stop      func()
}

// start starts the operator's process, so to speak, with the rights of its user.
func (o *installed) start() {
	o.t.Helper()
	address, reached := o.address, fmt.Sprintf("serviceName: %q", o.service)
	if o.service == "" {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		o.Expect(err).NotTo(HaveOccurred())
		address = free.Addr().String()
		o.Expect(free.Close()).To(Succeed())
		reached = fmt.Sprintf("url: %q", "https://"+address)
	}
	config, err := configv1alpha1.Load(fmt.Appendf(nil, `{mode: %q, metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"},
leaderElection: {resourceNamespace: %[2]s}, heartbeat: {namespace: %[2]s}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}, webhooks: {bindAddress: %[3]q, %[6]s, namespace: %[2]s, networks: %[5]t}%[4]s}`,
		o.mode, o.namespace, address, o.settings, o.networks, reached))
	o.Expect(err).NotTo(HaveOccurred())
	options := o.options
	options.Config = config
	options.Seed = rest.CopyConfig(o.seed.Config)
	options.Seed.Impersonate.UserName = o.user
	options.Seed.Wrap(o.usage.wrap)
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
	}).Should(Succeed(), func() string { return fmt.Sprint(o.usage.refused) })
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
