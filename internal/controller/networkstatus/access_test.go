// SPDX-License-Identifier: Apache-2.0

package networkstatus_test

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
)

// kubeconfig returns the shoot's kubeconfig after a change.
func (e *env) kubeconfig(change func(*clientcmdapi.Config)) string {
	e.t.Helper()
	config, err := clientcmd.LoadFromFile(landscape.Get(e.t).Shoots[0].Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	change(config)
	written, err := clientcmd.Write(*config)
	e.Expect(err).NotTo(HaveOccurred())
	return string(written)
}

// as returns the kubeconfig of a user with a token.
func (e *env) as(token string) string {
	return e.kubeconfig(func(config *clientcmdapi.Config) {
		for name := range config.AuthInfos {
			config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
		}
	})
}

// What keeps all components from being seen is told once, and a new kubeconfig
// changes it without waiting for the period.
func TestRefusedCredentialsAreToldOnce(t *testing.T) {
	e := setup(t, never)
	e.daemonSet("agent", plain)
	e.deployment("controller", plain)
	account := created(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: e.namespace, Namespace: "default"}})
	request := &authenticationv1.TokenRequest{}
	e.Expect(e.shoot.SubResource("token").Create(t.Context(), account, request)).To(Succeed())
	working := e.kubeconfig(func(*clientcmdapi.Config) {})

	n := e.network(e.component("agent", "DaemonSet", "agent"), e.component("controller", "Deployment", "controller"))
	for name, test := range map[string]struct{ token, wanted string }{
		"not valid":      {"dead", " refuses the credentials in the Secret " + e.namespace + "/gardener: "},
		"without rights": {request.Status.Token, "may not list and watch DaemonSet, Deployment, Node objects in the shoot: "},
	} {
		e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
		e.access(e.as(test.token))
		message := e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", test.wanted).Message
		e.Expect(strings.Count(message, "the credentials in the Secret")).To(Equal(1), "%s: %s", name, message)
		e.Expect(message).NotTo(HaveSuffix("…"), name)
		e.Expect(providerStatus(n)).NotTo(ContainSubstring("agent"))
		e.access(working)
	}
}

// way is a way to an API server that can be blocked.
type way struct {
	listener net.Listener
	server   string
	blocked  chan struct{}
	frozen   atomic.Bool
}

// read passes what comes from the API server: nothing, once the way is frozen.
func (w *way) read(from io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		if w.frozen.Load() {
			<-w.blocked
			return 0, io.EOF
		}
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (w *way) serve() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		go func() { _, _ = io.Copy(out, in) }()
		go func() { _, _ = io.Copy(in, w.read(out)) }()
		go func() {
			<-w.blocked
			_, _ = in.Close(), out.Close()
		}()
	}
}

func (w *way) block() {
	_ = w.listener.Close()
	close(w.blocked)
}

// detour leads the Network's access to the shoot through a way of its own.
func (e *env) detour() *way {
	e.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	e.Expect(err).NotTo(HaveOccurred())
	w := &way{listener: listener, blocked: make(chan struct{})}
	e.access(e.kubeconfig(func(config *clientcmdapi.Config) {
		for _, cluster := range config.Clusters {
			server, err := url.Parse(cluster.Server)
			e.Expect(err).NotTo(HaveOccurred())
			w.server, cluster.Server = server.Host, "https://"+listener.Addr().String()
		}
	}))
	go w.serve()
	return w
}

// An API server that hangs changes nothing in the cache, which proves nothing.
func TestAHangingShootIsUnknown(t *testing.T) {
	e := setup(t, often)
	e.daemonSet("agent", plain)
	w := e.detour()
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")
	w.frozen.Store(true)
	defer w.block()
	e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", "cannot be reached: it has not answered in time")
}

// The resource manager is the first to learn that a shoot cannot be reached:
// nothing goes on saying "healthy" once it has said so.
func TestAFailingManagedResourceIsHeeded(t *testing.T) {
	e := setup(t, never)
	e.daemonSet("agent", plain)
	w := e.detour()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: "network", Namespace: e.namespace},
		Spec: resourcesv1alpha1.ManagedResourceSpec{SecretRefs: []corev1.LocalObjectReference{{Name: "network"}}}}
	e.Expect(e.seed.Create(t.Context(), mr)).To(Succeed())
	n := e.network(e.component("agent", "DaemonSet", "agent"))
	e.becomes(n, corev1beta1.ConditionTrue, "HealthCheckSuccessful")

	w.block()
	attempt := 0
	e.Eventually(func(g Gomega) {
		before := mr.DeepCopy()
		attempt++
		now := metav1.NewTime(noon)
		mr.Status.Conditions = []corev1beta1.Condition{{Type: resourcesv1alpha1.ResourcesApplied, Status: corev1beta1.ConditionFalse,
			Reason: "ApplyFailed", Message: fmt.Sprintf("attempt %d", attempt), LastTransitionTime: now, LastUpdateTime: now}}
		g.Expect(e.seed.Status().Patch(t.Context(), mr, client.MergeFrom(before))).To(Succeed())
		g.Expect(e.seed.Get(t.Context(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		g.Expect(n.Status.Conditions[0].Message).To(ContainSubstring("cannot be reached"))
	}).WithPolling(time.Second).Should(Succeed())
	e.becomes(n, corev1beta1.ConditionUnknown, "ConditionCheckError", w.listener.Addr().String())
}
