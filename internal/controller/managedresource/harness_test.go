// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/test/harness"
)

// Each test has a namespace of its own, in the seed and in the shoot.
var landscape = harness.SeedAndShoot()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// env is a control-plane namespace in the seed and a namespace of the same name
// in the shoot, for one test.
type env struct {
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
	seed      *harness.Cluster
	shoot     *harness.Cluster
	// audit records what the operator sends.
	audit *audit
	// others are further control-plane namespaces that the operator sees.
	others []string
}

var numbers atomic.Int32

// newEnv returns an environment for one test. Tests run in parallel, since they mostly wait.
func newEnv(t *testing.T) *env {
	t.Helper()
	t.Parallel()
	e := &env{WithT: NewWithT(t), t: t, ctx: t.Context(), seed: landscape.Seed(t), shoot: landscape.Shoot(t)}
	e.audit = &audit{seed: harness.Requests{Everything: true}, shoot: harness.Requests{Everything: true}}
	e.namespace = e.seed.Namespace(t, "shoot--resources--")
	e.Expect(e.shoot.Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}})).To(Succeed())
	e.seed.PutAccess(t, e.namespace, e.shoot.Kubeconfig)
	return e
}

// operator runs the controller, until stop or the end of the test.
func (e *env) operator(adjust ...func(*Options)) (stop func()) {
	e.t.Helper()
	options := Options{DeletionInterval: time.Second}
	for _, f := range adjust {
		f(&options)
	}
	return e.seed.Run(e.t, append(e.others, e.namespace), &e.audit.seed, func(mgr manager.Manager) error {
		inShoot := shootclient.New(shootclient.Options{
			Metadata: mgr.GetCache(), Secrets: mgr.GetAPIReader(),
			WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return e.audit.shoot.Wrap(next) },
		})
		inSeed, err := shootclient.NewSeed(mgr.GetConfig(), mgr.GetHTTPClient(), shootclient.Options{})
		if err != nil {
			return err
		}
		if options.Shoots == nil {
			options.Shoots = inShoot
		}
		return errors.Join(mgr.Add(inShoot), mgr.Add(inSeed), Add(mgr, options), Add(mgr, Options{
			Shoots: inSeed, Class: "seed", Confined: true, DeletionInterval: time.Second, SyncPeriod: time.Second,
		}))
	})
}

// another returns an environment with another control-plane namespace, whose kubeconfig is of
// the same shoot. The operator of e, if it starts later, sees both.
func (e *env) another() *env {
	e.t.Helper()
	other := *e
	other.namespace = e.seed.Namespace(e.t, "shoot--resources--")
	e.seed.PutAccess(e.t, other.namespace, e.shoot.Kubeconfig)
	e.others = append(e.others, other.namespace)
	return &other
}

// state writes a ManagedResource with the objects.
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

// stateData writes a ManagedResource with one Secret, which has a new name each time.
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

// good are the conditions of a ManagedResource that is applied, healthy and rolled out.
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

// live reads an object from the shoot.
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

// runs waits until the operator has sent n reads to the shoot.
func (e *env) runs(n int) {
	e.t.Helper()
	e.audit.reset()
	e.Eventually(func() int { return len(e.audit.sent("shoot GET")) }).Should(BeNumerically(">=", n))
}

func (e *env) exists(object client.Object) func() bool {
	return func() (exists bool) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		// While CRDs are created and deleted, discovery can fail.
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

// audit records the requests to each cluster.
type audit struct{ seed, shoot harness.Requests }

// sent returns the requests that contain all parts, such as "shoot PATCH /apis/… dry-run".
func (a *audit) sent(parts ...string) []string {
	var found []string
	for i, requests := range []*harness.Requests{&a.seed, &a.shoot} {
		cluster := []string{"seed", "shoot"}[i]
		for _, request := range requests.Sent() {
			request.Code = 0
			line := cluster + " " + request.String()
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				found = append(found, line)
			}
		}
	}
	return found
}

func (a *audit) reset() {
	a.seed.Forget()
	a.shoot.Forget()
}

// bodies returns the bodies of the patches that the seed got.
func (a *audit) bodies() []string {
	var bodies []string
	for _, request := range a.seed.Sent() {
		if request.Method == http.MethodPatch {
			bodies = append(bodies, request.Body)
		}
	}
	return bodies
}

// writes returns the requests that change something.
func (a *audit) writes() []string {
	return slices.DeleteFunc(a.sent(), func(request string) bool {
		return strings.Contains(request, " GET ") || strings.HasSuffix(request, "dry-run")
	})
}

// refuse makes requests of the operator fail with the error of f; nil admits all.
func (e *env) refuse(f func(cluster string, request *http.Request) error) {
	for cluster, requests := range map[string]*harness.Requests{"seed": &e.audit.seed, "shoot": &e.audit.shoot} {
		if f == nil {
			requests.Before(nil)
		} else {
			requests.Before(func(request *http.Request) error { return f(cluster, request) })
		}
	}
}
