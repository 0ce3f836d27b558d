// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// soon is how long something that happens by itself may take on a busy machine.
const soon = time.Minute

var landscape = sandbox.Share(sandbox.Options{Shoots: []string{"garden-dev/one"}, Nodes: 2})

func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.UseDevMode(true)))
	os.Exit(landscape.Main(m))
}

// env is a control-plane namespace in the seed and a namespace of the same name
// in the shoot, for one test.
type env struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	seed      client.Client
	shoot     client.Client
	// audit has what the operator sent.
	audit *audit
}

var (
	numbers                atomic.Int32
	connecting, installing sync.Once
	seedClient             client.Client
)

// newEnv makes an environment that no other test has a part in, so that they run
// at the same time: most of their time they wait.
func newEnv(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	running := landscape.Get(t)
	e := &env{WithT: NewWithT(t), t: t, ctx: t.Context(), audit: &audit{}}
	e.SetDefaultEventuallyTimeout(soon)
	// Each look is a request; most of them find what they found before.
	e.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	e.SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	e.namespace = fmt.Sprintf("shoot--test--%d", numbers.Add(1))
	connecting.Do(func() { seedClient = e.clientFor(running.Seed.Kubeconfig) })
	e.seed = seedClient
	e.shoot = e.clientFor(running.Shoots[0].Kubeconfig)
	installing.Do(func() { e.Expect(install.CRDs(e.ctx, e.seed)).To(Succeed()) })
	for _, c := range []client.Client{e.seed, e.shoot} {
		e.Expect(c.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	}
	kubeconfig, err := os.ReadFile(running.Shoots[0].Kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(e.seed.Create(e.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: shootclient.SecretName},
		Data:       map[string][]byte{shootclient.SecretKey: kubeconfig},
	})).To(Succeed())
	return e
}

func (e *env) clientFor(kubeconfig string) client.Client {
	e.t.Helper()
	c, err := client.New(restConfig(e, kubeconfig), client.Options{Scheme: testScheme()})
	e.Expect(err).NotTo(HaveOccurred())
	return c
}

func restConfig(e *env, kubeconfig string) *rest.Config {
	e.t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	e.Expect(err).NotTo(HaveOccurred())
	cfg.QPS = -1
	return cfg
}

func testScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s)
	_ = apiextensionsv1.AddToScheme(s)
	_ = resourcesv1alpha1.AddToScheme(s)
	return s
}

// operator runs the controller, until stop or the end of the test.
func (e *env) operator(adjust ...func(*Options)) (stop func()) {
	e.t.Helper()
	cfg := restConfig(e, landscape.Get(e.t).Seed.Kubeconfig)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return e.audit.transport("seed", next) })
	mgr, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:  testScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return e.seed.RESTMapper(), nil // what the API server has is found out once
		},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	e.Expect(err).NotTo(HaveOccurred())
	clients := shootclient.New(shootclient.Options{
		Metadata: mgr.GetClient(), Secrets: mgr.GetAPIReader(),
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper {
			return e.audit.transport("shoot", next)
		},
	})
	e.Expect(mgr.Add(clients)).To(Succeed())
	inSeed, err := shootclient.NewSeed(mgr.GetConfig(), mgr.GetHTTPClient(), shootclient.Options{})
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(mgr.Add(inSeed)).To(Succeed())
	e.Expect(Add(mgr, Options{
		Shoots: inSeed, Class: "seed", Confined: true, DeletionInterval: time.Second, SyncPeriod: time.Second,
	})).To(Succeed())
	options := Options{Shoots: clients, DeletionInterval: time.Second}
	for _, f := range adjust {
		f(&options)
	}
	e.Expect(Add(mgr, options)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			e.t.Errorf("the operator ended with: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	e.t.Cleanup(stop)
	return stop
}

// state writes a ManagedResource which states the objects.
func (e *env) state(name string, objects ...client.Object) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	return e.stateData(name, map[string][]byte{"objects.json": e.encode(objects...)})
}

func (e *env) encode(objects ...client.Object) []byte {
	e.t.Helper()
	var documents []string
	for _, object := range objects {
		raw, err := json.Marshal(object)
		e.Expect(err).NotTo(HaveOccurred())
		documents = append(documents, string(raw))
	}
	return []byte(strings.Join(documents, "\n---\n"))
}

// stateData writes a ManagedResource with one Secret, of a new name each time.
func (e *env) stateData(name string, data map[string][]byte) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: fmt.Sprintf("%s-%d", name, numbers.Add(1))},
		Data:       data,
	}
	e.Expect(e.seed.Create(e.ctx, secret)).To(Succeed())
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
	refs := []corev1.LocalObjectReference{{Name: secret.Name}}
	if err := e.seed.Get(e.ctx, client.ObjectKeyFromObject(mr), mr); err == nil {
		patch := client.MergeFrom(mr.DeepCopy())
		mr.Spec.SecretRefs = refs
		e.Expect(e.seed.Patch(e.ctx, mr, patch)).To(Succeed())
		return mr
	}
	mr.Spec.SecretRefs = refs
	mr.Spec.InjectLabels = map[string]string{"injected": "yes"}
	e.Expect(e.seed.Create(e.ctx, mr)).To(Succeed())
	return mr
}

// edit changes a ManagedResource.
func (e *env) edit(name string, change func(*resourcesv1alpha1.ManagedResource)) {
	e.t.Helper()
	mr := e.get(name)
	patch := client.MergeFrom(mr.DeepCopy())
	change(mr)
	e.Expect(e.seed.Patch(e.ctx, mr, patch)).To(Succeed())
}

func (e *env) get(name string) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	mr := &resourcesv1alpha1.ManagedResource{}
	e.Expect(e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, mr)).To(Succeed())
	return mr
}

// conditions returns "status reason" of the three conditions, by their type.
func (e *env) conditions(name string) func() map[string]string {
	return func() map[string]string {
		mr := &resourcesv1alpha1.ManagedResource{}
		if err := e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, mr); err != nil {
			return nil
		}
		all := map[string]string{}
		for _, c := range mr.Status.Conditions {
			all[c.Type] = string(c.Status) + " " + c.Reason
		}
		if mr.Status.ObservedGeneration != mr.Generation {
			all["outdated"] = fmt.Sprint(mr.Status.ObservedGeneration)
		}
		return all
	}
}

// message returns the message of a condition.
func (e *env) message(name, condition string) func() string {
	return func() string {
		mr := &resourcesv1alpha1.ManagedResource{}
		if err := e.seed.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, mr); err != nil {
			return err.Error()
		}
		for _, c := range mr.Status.Conditions {
			if c.Type == condition {
				return c.Message
			}
		}
		return ""
	}
}

// good are the conditions of a ManagedResource in good order.
var good = map[string]string{
	"ResourcesApplied":     "True ApplySucceeded",
	"ResourcesHealthy":     "True ResourcesHealthy",
	"ResourcesProgressing": "False ResourcesRolledOut",
}

func (e *env) becomesGood(name string) {
	e.t.Helper()
	e.Eventually(e.conditions(name)).Should(Equal(good))
}

func (e *env) configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name},
		Data:       map[string]string{},
	}
	for i := 0; i+1 < len(data); i += 2 {
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

// live reads an object of the shoot again.
func live[T client.Object](e *env, object T) T {
	e.t.Helper()
	fresh := object.DeepCopyObject().(T)
	e.Expect(e.shoot.Get(e.ctx, client.ObjectKeyFromObject(object), fresh)).To(Succeed())
	return fresh
}

// change patches an object of the shoot, as kubectl edit would.
func change[T client.Object](e *env, object T, f func(T)) {
	e.t.Helper()
	fresh := live(e, object)
	patch := client.MergeFrom(fresh.DeepCopyObject().(T))
	f(fresh)
	e.Expect(e.shoot.Patch(e.ctx, fresh, patch, client.FieldOwner("kubectl-edit"))).To(Succeed())
}

func (e *env) exists(object client.Object) func() bool {
	return func() (exists bool) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		// While kinds come and go, discovery fails now and then: that is no answer.
		e.Eventually(func() error {
			err := e.shoot.Get(e.ctx, client.ObjectKeyFromObject(object), u)
			if exists = err == nil; apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return nil
			}
			return err
		}).Should(Succeed())
		return exists
	}
}

// audit counts what is sent to which cluster.
type audit struct {
	mu       sync.Mutex
	requests []string
	sentTo   []string // bodies of patches of the seed
	// refuse, if set, may fail a request instead of having it sent.
	refuse func(cluster string, request *http.Request) error
}

type auditTransport struct {
	cluster string
	audit   *audit
	next    http.RoundTripper
}

func (a *audit) transport(cluster string, next http.RoundTripper) http.RoundTripper {
	return &auditTransport{cluster, a, next}
}

// RoundTrip implements http.RoundTripper.
func (t *auditTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.audit.mu.Lock()
	what := fmt.Sprintf("%s %s %s", t.cluster, request.Method, request.URL.Path)
	if request.URL.Query().Has("dryRun") {
		what += " dry-run"
	}
	if request.URL.Query().Get("watch") == "" {
		t.audit.requests = append(t.audit.requests, what)
	}
	if request.Method == http.MethodPatch && t.cluster == "seed" && request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			raw, _ := io.ReadAll(body)
			t.audit.sentTo = append(t.audit.sentTo, string(raw))
		}
	}
	refuse := t.audit.refuse
	t.audit.mu.Unlock()
	if refuse != nil {
		if err := refuse(t.cluster, request); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(request)
}

func (a *audit) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = nil
}

// sent returns the requests that contain all parts.
func (a *audit) sent(parts ...string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []string
next:
	for _, request := range a.requests {
		for _, part := range parts {
			if !strings.Contains(request, part) {
				continue next
			}
		}
		found = append(found, request)
	}
	return found
}

// bodies returns what the seed was sent in patches.
func (a *audit) bodies() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sentTo)
}

// refuse has f fail requests of the operator.
func (e *env) refuse(f func(cluster string, request *http.Request) error) {
	e.audit.mu.Lock()
	defer e.audit.mu.Unlock()
	e.audit.refuse = f
}

// writes returns the requests that change something.
func (a *audit) writes() []string {
	var writes []string
	for _, request := range a.sent("") {
		if !strings.Contains(request, " GET ") && !strings.HasSuffix(request, "dry-run") {
			writes = append(writes, request)
		}
	}
	return writes
}
