// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/test/contract"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

const (
	operatorUser      = "trellis-operator"
	operatorNamespace = "trellis-system"
	webhookConfig     = "gardener-extension-networking-cilium-shoot"
	day               = 24 * time.Hour
)

var landscape = harness.Own(sandbox.Options{Shoots: []string{"garden-dev/asking"}, Users: []string{operatorUser}, Stderr: io.Discard})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// calendar is a clock that can be set, and whose minutes are short.
type calendar struct {
	clock.RealClock
	ago atomic.Int64
}

func (c *calendar) set(ago time.Duration)           { c.ago.Store(int64(ago)) }
func (c *calendar) Now() time.Time                  { return time.Now().Add(-time.Duration(c.ago.Load())) }
func (c *calendar) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *calendar) NewTicker(time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(100 * time.Millisecond)
}

// world is the landscape as an admin sees it.
type world struct {
	*WithT
	t           *testing.T
	box         *sandbox.Sandbox
	seed, shoot client.Client
	clock       *calendar
	asking      *corev1beta1.Shoot
}

func setup(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, box: landscape.Get(t), clock: &calendar{}, seed: landscape.Seed(t), shoot: landscape.Shoot(t)}
	w.Expect(install.Rights(t.Context(), w.seed, configv1alpha1.ModeStandalone, operatorUser, "default")).To(Succeed())
	w.Expect(w.seed.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())
	return w
}

// startOperator starts an operator with its own rights, whom API servers reach on this
// machine.
func (w *world) startOperator() {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	w.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	w.Expect(free.Close()).To(Succeed())
	config, err := configv1alpha1.Load(fmt.Appendf(nil,
		`{mode: Standalone, metrics: {bindAddress: "0"}, healthProbes: {bindAddress: "0"}, shootClientConnection: {allowedAddresses: [127.0.0.0/8]}, webhooks: {bindAddress: %q, url: %q, namespace: %s}}`,
		address, "https://"+address, operatorNamespace))
	w.Expect(err).NotTo(HaveOccurred())
	api, err := clientcmd.BuildConfigFromFlags("", w.box.Seed.Users[operatorUser])
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- operator.Run(ctx, operator.Options{Plugins: plugins.All(), Config: config, Seed: api, Log: logr.Discard(), Clock: w.clock})
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the operator ended with %v", err)
		}
	})
}

// wants applies the Shoot in a version of Kubernetes, which is what its user says: the
// API server itself has all versions' abilities.
func (w *world) wants(kubernetes string) {
	w.t.Helper()
	w.asking = &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: "asking"}}
	_, err := ctrl.CreateOrPatch(w.t.Context(), w.seed, w.asking, func() error {
		w.asking.Spec.Kubernetes.Version = kubernetes
		w.asking.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 1}}}
		w.asking.Spec.Networking = &corev1beta1.Networking{Type: new("cilium"), Pods: new("100.96.0.0/11"), Nodes: new("10.250.0.0/16"), Services: new("100.64.0.0/13")}
		w.asking.Spec.SystemComponents = &corev1beta1.SystemComponents{NodeLocalDNS: &corev1beta1.NodeLocalDNS{Enabled: true}}
		return nil
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func(g Gomega) {
		g.Expect(w.seed.Get(w.t.Context(), client.ObjectKeyFromObject(w.asking), w.asking)).To(Succeed())
		g.Expect(w.asking.Status.ObservedGeneration).To(Equal(w.asking.Generation))
		g.Expect(w.asking.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}).Should(Succeed())
}

func (w *world) network() *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{}
	w.Expect(w.seed.Get(w.t.Context(), client.ObjectKey{Namespace: "shoot--dev--asking", Name: "asking"}, n)).To(Succeed())
	return n
}

// trusted is how many authorities the shoot's API server trusts.
func (w *world) trusted() int {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := w.shoot.Get(w.t.Context(), client.ObjectKey{Name: webhookConfig}, config); err != nil {
		return 0
	}
	return strings.Count(string(config.Webhooks[0].ClientConfig.CABundle), "BEGIN CERTIFICATE")
}

func cacheConfig(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{"k8s-app": "node-local-dns"}},
		Data:       map[string]string{"Corefile": ".:53 {\n    bind 169.254.20.10\n}"},
	}
}

func cache() *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": "node-local-dns"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "node-local-dns", Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				HostNetwork: true, Containers: []corev1.Container{{Name: "node-cache", Image: "x", Args: []string{"-setupiptables=true"}}},
			}},
		},
	}
}

// The whole way: a shoot is told of the webhook, and its API server asks; the authority
// gets old, and the shoot is told of the next one; the Shoot's Kubernetes can do without.
func TestAShootAsksTheOperator(t *testing.T) {
	contract.Shows(t, "W1", "W2")
	w := setup(t)
	w.clock.set(310 * day)
	w.startOperator()
	w.wants("1.35.2")
	w.Eventually(w.trusted).Should(Equal(1))
	w.Eventually(func() string { return fmt.Sprint(w.shoot.Create(t.Context(), cacheConfig("node-local-dns-0"))) }).
		Should(ContainSubstring("certificate has expired"), "the API server refuses objects that the webhook could not change")

	before := w.network()
	w.clock.set(0)
	w.Eventually(w.trusted).Should(Equal(2), "two months before the authority expires")
	config, daemonSet := cacheConfig("node-local-dns-1"), cache()
	w.Eventually(func() error { return w.shoot.Create(t.Context(), config) }).Should(Succeed())
	w.Expect(config.Data["Corefile"]).To(Equal(".:53 {\n    bind 0.0.0.0\n}"))
	w.Expect(w.shoot.Create(t.Context(), daemonSet)).To(Succeed())
	w.Expect(daemonSet.Spec.Template.Spec.HostNetwork).To(BeFalse())
	w.Expect(daemonSet.Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"-skipteardown=true", "-setupinterface=false", "-setupiptables=false"}))
	asBefore := client.MergeFrom(daemonSet.DeepCopy())
	daemonSet.Spec.Template.Spec.HostNetwork = true
	w.Expect(w.shoot.Patch(t.Context(), daemonSet, asBefore)).To(Succeed(), "its controller may have written its status")
	w.Expect(daemonSet.Spec.Template.Spec.HostNetwork).To(BeFalse())
	w.Expect(w.network().Status.LastOperation).To(Equal(before.Status.LastOperation), "telling a shoot is no operation")

	w.wants("1.36.3")
	w.Eventually(func() bool {
		return apierrors.IsNotFound(w.shoot.Get(t.Context(), client.ObjectKey{Name: webhookConfig}, &admissionregistrationv1.MutatingWebhookConfiguration{}))
	}).Should(BeTrue())
	w.Eventually(func() string {
		config := cacheConfig("node-local-dns-2")
		w.Expect(w.shoot.Create(t.Context(), config, client.DryRunAll)).To(Succeed())
		return config.Data["Corefile"]
	}).Should(ContainSubstring("bind 0.0.0.0"), "by the policies")
}
