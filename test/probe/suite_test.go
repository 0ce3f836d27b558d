// SPDX-License-Identifier: Apache-2.0

// Package probe tests probes with the objects that Trellis gives them and a real API server. The
// network between them is a simulated one.
package probe

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	"github.com/trellis-network/trellis/internal/probe"
	"github.com/trellis-network/trellis/internal/probe/apiserver"
	"github.com/trellis-network/trellis/internal/probe/measure"
	"github.com/trellis-network/trellis/internal/probe/respond"
	bundle "github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/sandbox"
)

var landscape = harness.Own(sandbox.Options{AuditPolicy: harness.AuditPolicy})

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

const (
	system  = metav1.NamespaceSystem
	service = "trellis-probe"
	port    = 8099
)

// shoot is a cluster with the probe's objects.
type shoot struct {
	client.Client
	core    kubernetes.Interface
	network *network
	url     string
	ca      []byte
}

var prepare sync.Once

// newShoot returns the cluster. The probe's objects are applied by the first test that asks.
func newShoot(t *testing.T) (*WithT, *shoot) {
	g, seed := NewWithT(t), landscape.Seed(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	prepare.Do(func() { apply(t, seed) })
	c, err := client.New(seed.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	core, err := kubernetes.NewForConfig(seed.Config)
	g.Expect(err).NotTo(HaveOccurred())
	return g, &shoot{Client: c, core: core, network: &network{real: map[string]string{}, cut: map[string]bool{}}, url: seed.Config.Host, ca: seed.Config.CAData}
}

// apply creates the objects of the probe's bundle.
func apply(t *testing.T, c client.Client) {
	t.Helper()
	for _, object := range objects(t) {
		NewWithT(t).Expect(c.Create(t.Context(), object)).To(Succeed())
	}
}

// objects returns those of the probe's bundle.
func objects(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	in := &plugin.Input{Environment: plugin.Environment{Probe: &plugin.Probe{OutsideTarget: "example.com:443"}}}
	in.MaxUnavailable = 2
	made, _ := bundle.Bundle(in)
	for _, object := range made.Objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	return all
}

// node creates a node with the pod of a probe, and returns a folder with the pod's credentials.
func (s *shoot) node(t *testing.T, name string) (credentials string) {
	t.Helper()
	g := NewWithT(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Expect(s.Create(t.Context(), node)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "trellis-probe-", Namespace: system},
		Spec: corev1.PodSpec{
			NodeName: name, ServiceAccountName: service, Containers: []corev1.Container{{Name: "probe", Image: "probe"}},
		},
	}
	g.Expect(s.Create(t.Context(), pod)).To(Succeed())
	return s.credentials(t, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID})
}

// credentials returns a folder with a token of the probes' ServiceAccount that is bound to an object.
func (s *shoot) credentials(t *testing.T, boundTo *authenticationv1.BoundObjectReference) string {
	t.Helper()
	g := NewWithT(t)
	made, err := s.core.CoreV1().ServiceAccounts(system).CreateToken(t.Context(), service, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: boundTo},
	}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	for name, content := range map[string][]byte{"token": []byte(made.Status.Token), "ca.crt": s.ca} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
	}
	return folder
}

// endpoints states the addresses of the pods, by node.
func (s *shoot) endpoints(t *testing.T, pods map[string]string) {
	t.Helper()
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: service + "-", Namespace: system, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for node, address := range pods {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	NewWithT(t).Expect(s.Create(t.Context(), slice)).To(Succeed())
}

// report returns the latest report about a node, an empty one if there is none.
func (s *shoot) report(ctx context.Context, node string) (found v1alpha1.NodeConnectivity) {
	_ = s.Get(ctx, client.ObjectKey{Name: node}, &found)
	return found
}

// network connects simulated addresses with the real ones on which the probes of a test listen.
type network struct {
	mutex sync.Mutex
	real  map[string]string // by address:port
	cut   map[string]bool   // from>address:port
}

func (n *network) dialer(from string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, kind, address string) (net.Conn, error) {
		n.mutex.Lock()
		to, cut := n.real[address], n.cut[from+">"+address]
		n.mutex.Unlock()
		if cut || to == "" {
			return nil, syscall.EHOSTUNREACH
		}
		return (&net.Dialer{}).DialContext(ctx, kind, to)
	}
}

func (n *network) set(from, to string, cut bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.cut[from+">"+to] = cut
}

// run runs the probe of a node with a pod at a simulated address until the test ends.
func (s *shoot) run(t *testing.T, node, address, credentials string) {
	t.Helper()
	g := NewWithT(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	ip := netip.MustParseAddr(address)
	s.network.mutex.Lock()
	s.network.real[netip.AddrPortFrom(ip, port).String()] = listener.Addr().String()
	s.network.mutex.Unlock()
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { _ = respond.HTTP(ctx, listener, respond.Identity{Node: node}) })
	measuring := measure.Measure{Dial: s.network.dialer(node)}
	one := probe.Probe{
		Settings: probe.Settings{
			Node: node, Namespace: system, Service: service, PodIPs: []netip.Addr{ip}, Port: port, KubeletPort: 10250,
			Peers: 5, Interval: time.Second, ReportInterval: 5 * time.Second, Version: "v0.0.0-test",
		},
		API:          &apiserver.Client{URL: s.url, Credentials: credentials},
		Attempt:      measuring.Attempt,
		PodInterface: func() *v1alpha1.PodInterface { return &v1alpha1.PodInterface{Name: "eth0", MTU: 1450} },
		Chance:       rand.Float64,
		Log:          slog.New(slog.DiscardHandler),
	}
	running.Go(func() { one.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// about returns the result about a peer in a report.
func about(peer string, found v1alpha1.NodeConnectivity) (v1alpha1.Result, error) {
	for _, check := range found.Report.Checks {
		for _, result := range check.Results {
			if check.Type == v1alpha1.CheckPods && result.Name == peer {
				return result, nil
			}
		}
	}
	return v1alpha1.Result{}, fmt.Errorf("there is no result about %s in %+v", peer, found.Report)
}
