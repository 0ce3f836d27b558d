// SPDX-License-Identifier: Apache-2.0

package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/seed"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/test/install"
	"github.com/trellis-network/trellis/test/sandbox"
)

// The tests share one API server. Each has its own namespace, so that they do
// not meet; each starts the controller for itself.
var landscape = sandbox.Share(sandbox.Options{})

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	os.Exit(landscape.Main(m))
}

// stringConfig is the config of the network that these tests are about.
type stringConfig struct {
	metav1.TypeMeta `json:",inline"`
	Backend         string `json:"backend,omitempty"`
	// Knots, if stated, come later, Ear, if stated, is an object in the seed, and
	// Guard, if stated, one that looks after what others write: "who asks" whoever
	// answers, if anybody does.
	Knots string `json:"knots,omitempty"`
	Ear   string `json:"ear,omitempty"`
	Guard string `json:"guard,omitempty"`
}

type stringPlugin struct{}

func (stringPlugin) Describe() plugin.Description {
	return plugin.Description{
		Type:            "string",
		ConfigVersions:  []schema.GroupVersion{{Group: "string.example.org", Version: "v1"}},
		ManagedResource: "string-config", Origin: "string", AdmissionResource: "string-guard",
		IPFamilies: plugin.IPFamilySupport{IPv4: true, DualStack: true},
	}
}

func (stringPlugin) Validate(written *stringConfig, facts *plugin.Facts, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if !facts.KubeProxy.Enabled {
		found.Error(field.Forbidden(field.NewPath("spec", "kubernetes", "kubeProxy", "enabled"), "strings do not route Services"))
	}
	if written.Backend == "tangled" {
		found.Error(field.NotSupported(path.Child("backend"), written.Backend, []string{"none", "taut"}))
	}
	return found
}

func (stringPlugin) Default(config *stringConfig, _ *plugin.Facts, _ *plugin.Origins) {
	if config.Backend == "" {
		config.Backend = "taut"
	}
}

func (stringPlugin) ValidateEffective(effective, _ *stringConfig, _ *plugin.Facts, path *field.Path) plugin.Findings {
	var found plugin.Findings
	if effective.Backend == "none" {
		found.Warn(path.Child("backend"), "nobody will hear you")
	}
	return found
}

func (stringPlugin) Classify(path string, _, _ *stringConfig) (plugin.ChangeClass, string) {
	if path == "knots" {
		return plugin.Disruptive, "the string is cut"
	}
	return plugin.Safe, "it is only string"
}

func (stringPlugin) Render(effective *stringConfig, facts *plugin.Facts) (plugin.Objects, error) {
	content := effective.Backend + facts.IPAM
	if len(facts.IPFamilies) > 1 {
		content += " twice"
	}
	objects := plugin.Objects{
		Shoot:      []plugin.Object{configMap("kube-system", "string", content)},
		Components: []plugin.Component{{Name: "cans", Kind: "DaemonSet", Namespace: "kube-system", Workload: "cans"}},
	}
	if effective.Knots != "" {
		objects.ShootLater = []plugin.Object{configMap("kube-system", "knots", effective.Knots)}
	}
	switch ask := facts.Webhook; {
	case effective.Guard == "who asks" && ask != nil:
		objects.ShootAdmission = []plugin.Object{configMap("kube-system", "guard", ask.URL+" "+string(ask.CABundle))}
	case effective.Guard != "" && effective.Guard != "who asks":
		objects.ShootAdmission = []plugin.Object{configMap("kube-system", "guard", effective.Guard)}
	}
	if effective.Ear != "" {
		objects.Seed = []plugin.Object{configMap(facts.Namespace, "ear", effective.Ear)}
	}
	return objects, nil
}

// Precondition is that of a loose string, which a taut one must not become before
// the nodes have knots.
func (stringPlugin) Precondition(effective *stringConfig, _ *plugin.Facts) *plugin.Precondition {
	if effective.Backend != "loose" {
		return nil
	}
	return &plugin.Precondition{
		Concerns: func(present []unstructured.Unstructured) bool {
			content, _, _ := unstructured.NestedString(present[0].Object, "data", "content")
			return content == "taut"
		},
		Condition: "Knotted", Status: corev1.ConditionTrue, Reason: "Twice",
		Because: "a loose string would fall off",
	}
}

// IPAM is what a string that was there before holds.
func (stringPlugin) IPAM(present []unstructured.Unstructured) string {
	heirloom, _, _ := unstructured.NestedString(present[0].Object, "data", "heirloom")
	return heirloom
}

func configMap(namespace, name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Data:       map[string]string{"content": content},
	}
}

// env is one test's namespace, with the controller running.
type env struct {
	*WithT
	t         *testing.T
	config    *rest.Config
	client    client.Client
	namespace string
	requests  *audit
	start     func() (stop func())
	stop      func()
	hasNodes  bool
}

var namespaces atomic.Int32

// setup starts the controller with the options that change makes of sensible
// ones. The shoot is a plain one; see env.cluster.
func setup(t *testing.T, change ...func(*network.Options)) *env {
	t.Helper()
	t.Parallel() // most of the time is spent with waiting
	g := NewWithT(t)
	config, err := clientcmd.BuildConfigFromFlags("", landscape.Get(t).Seed.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	admin, err := client.New(config, client.Options{Scheme: seed.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(install.CRDs(t.Context(), admin)).To(Succeed())
	e := &env{
		WithT: g, t: t, config: config, client: admin,
		namespace: fmt.Sprintf("shoot--test--%d", namespaces.Add(1)),
		requests:  &audit{},
	}
	g.Expect(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	e.cluster(func(*corev1beta1.Shoot) {})

	built, err := pipeline.New([]plugin.Plugin{plugin.New(stringPlugin{})}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	options := network.Options{Pipeline: built, Trigger: network.TriggerGeneration, Standalone: true, MaxConcurrentReconciles: 2, Clock: clock.RealClock{}}
	options.Shoots = shootclient.New(shootclient.Options{Metadata: admin, Secrets: admin})
	for _, c := range change {
		c(&options)
	}
	e.start = func() func() { return e.run(rest.CopyConfig(config), options) }
	e.stop = e.start()
	t.Cleanup(func() { e.stop() })
	return e
}

// restart ends the controller's process, as far as it knows, and starts another.
func (e *env) restart() {
	e.stop()
	e.stop = e.start()
}

// run runs the controller for this test's namespace until the returned function
// is called.
func (e *env) run(api *rest.Config, options network.Options) func() {
	api.Wrap(e.requests.wrap)
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme:     seed.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{e.namespace: {}}},
		Client:     seed.ClientOptions(),
	})
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(network.Add(mgr, options)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	var once sync.Once
	return func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				e.t.Errorf("the manager ended with %v", err)
			}
		})
	}
}

// cluster makes, or changes, the Cluster with the Shoot that change makes of a
// plain one.
func (e *env) cluster(change func(*corev1beta1.Shoot)) {
	s := &corev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"},
		ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: "garden-test"},
	}
	change(s)
	raw, err := json.Marshal(s)
	e.Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	_, err = ctrl.CreateOrUpdate(e.t.Context(), e.client, cluster, func() error {
		cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
		return nil
	})
	e.Expect(err).NotTo(HaveOccurred())
}

// network creates the test's Network.
func (e *env) network(change ...func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: "tin", Namespace: e.namespace},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "string"},
			PodCIDR:     "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	for _, c := range change {
		c(n)
	}
	e.Expect(e.client.Create(e.t.Context(), n)).To(Succeed())
	return n
}

func withConfig(config string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) {
		n.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
	}
}

func asking(operation string) func(*extensionsv1alpha1.Network) {
	return func(n *extensionsv1alpha1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, extensionsv1alpha1.OperationAnnotation, operation)
	}
}

// patch changes the Network as its user would.
func (e *env) patch(n *extensionsv1alpha1.Network, change func(*extensionsv1alpha1.Network)) {
	e.get(n)
	before := n.DeepCopy()
	change(n)
	e.Expect(e.client.Patch(e.t.Context(), n, client.MergeFrom(before))).To(Succeed())
}

func (e *env) get(object client.Object) {
	e.Expect(e.client.Get(e.t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// managedResource returns the Network's ManagedResource, once it is there.
func (e *env) managedResource() *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	return e.managedResourceOf("string-config")
}

func (e *env) managedResourceOf(name string) *resourcesv1alpha1.ManagedResource {
	e.t.Helper()
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.namespace}}
	e.Eventually(func() error {
		return e.client.Get(e.t.Context(), client.ObjectKeyFromObject(mr), mr)
	}).Should(Succeed())
	return mr
}

// resourceManager plays the resource manager: it says of the ManagedResource, in
// its present generation, what became of it.
func (e *env) resourceManager(status corev1beta1.ConditionStatus, reason, message string, since time.Time, codes ...corev1beta1.ErrorCode) {
	mr := e.managedResource()
	before := mr.DeepCopy()
	if status == corev1beta1.ConditionTrue {
		mr.Status.ObservedGeneration = mr.Generation
	}
	mr.Status.Conditions = []corev1beta1.Condition{{
		Type: resourcesv1alpha1.ResourcesApplied, Status: status, Reason: reason, Message: message, Codes: codes,
		LastTransitionTime: metav1.NewTime(since), LastUpdateTime: metav1.NewTime(since),
	}}
	e.Expect(e.client.Status().Patch(e.t.Context(), mr, client.MergeFrom(before))).To(Succeed())
}

func (e *env) applied() {
	e.resourceManager(corev1beta1.ConditionTrue, "ApplySucceeded", "All resources are applied.", time.Now())
}

// becomes waits until the Network's status is as the matchers say.
func (e *env) becomes(n *extensionsv1alpha1.Network, operation corev1beta1.LastOperationType, state corev1beta1.LastOperationState) {
	e.t.Helper()
	e.Eventually(func(g Gomega) {
		g.Expect(e.client.Get(context.Background(), client.ObjectKeyFromObject(n), n)).To(Succeed())
		g.Expect(n.Status.LastOperation).NotTo(BeNil())
		g.Expect(string(n.Status.LastOperation.Type) + "/" + string(n.Status.LastOperation.State)).To(Equal(string(operation) + "/" + string(state)))
	}).Should(Succeed())
}

// stays says that, for a while, the object does not change at all.
func (e *env) stays(object client.Object) {
	e.t.Helper()
	e.get(object)
	version := object.GetResourceVersion()
	e.Consistently(func() string {
		e.get(object)
		return object.GetResourceVersion()
	}).WithTimeout(700 * time.Millisecond).Should(Equal(version))
}

// finished is a Network that the controller has carried out.
func (e *env) finished(change ...func(*extensionsv1alpha1.Network)) *extensionsv1alpha1.Network {
	n := e.network(change...)
	e.applied()
	e.becomes(n, corev1beta1.LastOperationTypeCreate, corev1beta1.LastOperationStateSucceeded)
	return n
}

// inGardener are the options in a landscape of Gardener's.
func inGardener(options *network.Options) {
	options.Trigger, options.Standalone = network.TriggerOperation, false
}

func at(passive *clocktesting.FakePassiveClock) func(*network.Options) {
	return func(options *network.Options) { options.Clock = passive }
}

// audit counts the requests of the controller's own client: all but those that
// fill caches or record events.
type audit struct {
	mutex sync.Mutex
	notes []*note
}

type note struct{ line string }

func (a *audit) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		query := request.URL.Query()
		own := !query.Has("watch") && !query.Has("limit") && !query.Has("sendInitialEvents") &&
			!strings.Contains(request.URL.Path, "/events") && strings.Count(request.URL.Path, "/") > 4
		if !own {
			return next.RoundTrip(request)
		}
		// Noted before its effect can be seen, so that a test which sees the effect
		// sees the note.
		noted := &note{line: request.Method + " " + request.URL.Path}
		a.mutex.Lock()
		a.notes = append(a.notes, noted)
		a.mutex.Unlock()
		response, err := next.RoundTrip(request)
		if err == nil {
			a.mutex.Lock()
			noted.line += fmt.Sprintf(" %d", response.StatusCode)
			a.mutex.Unlock()
		}
		return response, err
	})
}

func (a *audit) all() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var lines []string
	for _, n := range a.notes {
		lines = append(lines, n.line)
	}
	return lines
}

func (a *audit) forget() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.notes = nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
