// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/trellis-network/trellis/api/config/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
)

const (
	// networkCount is the number of Networks.
	networkCount = 100
	// replicaConfig lets the next leader wait less than in production. The mode is that of a
	// Gardener landscape, and the test sets the status that the resource manager would set.
	replicaConfig = `
mode: Gardener
metrics: {bindAddress: "0"}
healthProbes: {bindAddress: "0"}
shootClientConnection: {allowedAddresses: [127.0.0.0/8]}
leaderElection: {resourceNamespace: default, leaseDuration: 12s, renewDeadline: 10s, retryPeriod: 500ms}
heartbeat: {namespace: default}
`
)

// Only the leader of several replicas reconciles. While it reconciles a hundred Networks, the
// test suspends the leader, and later kills the next one. The last replica reconciles the
// rest. No Network is forgotten, two replicas never reconcile the same Network at once, and
// the suspended replica does nothing when it resumes.
func TestAnotherReplicaCarriesOn(t *testing.T) {
	w := setupWithoutOperator(t, forOthers)
	w.Expect(install.Rights(t.Context(), w.seed, configv1alpha1.ModeGardener, operatorUser, "default")).To(Succeed())
	for i := range networkCount {
		w.createNetwork(namespaceName(i))
	}
	t.Cleanup(w.deleteNetworks)
	silent, next := w.startReplica("first"), w.startReplica("second")
	w.comesTo(networkCount / 4)
	if len(next.writes(t)) > 0 {
		silent, next = next, silent
	}
	w.Expect(next.writes(t)).To(BeEmpty(), "only the leader writes")
	w.Expect(silent.Process.Signal(syscall.SIGSTOP)).To(Succeed())
	w.comesTo(networkCount / 2)
	last := w.startReplica("third")
	w.comesTo(networkCount * 3 / 4)
	w.Expect(last.writes(t)).To(BeEmpty(), "only the leader writes")
	_ = next.Process.Kill()
	w.Expect(next.ends()).NotTo(Succeed())
	w.Expect(w.succeeded()).To(BeNumerically("<", networkCount), "the test must kill it before all Networks are reconciled")

	resumed := time.Now()
	w.Expect(silent.Process.Signal(syscall.SIGCONT)).To(Succeed())
	w.Expect(silent.ends()).NotTo(Succeed(), "a replica that has lost its lease ends with an error")
	w.Eventually(func() int { w.resourceManager(); return w.succeeded() }).Should(Equal(networkCount))
	w.Expect(slices.DeleteFunc(silent.writes(t), func(one written) bool { return one.at.Before(resumed) })).To(BeEmpty(), "it is no longer the leader, and writes nothing")
	w.doneOnce(silent, next, last)

	w.Expect(last.Process.Signal(syscall.SIGTERM)).To(Succeed())
	w.Expect(last.ends()).To(Succeed(), "a leader that receives SIGTERM ends in order")
}

func namespaceName(i int) string { return fmt.Sprintf("shoot--replicas--%d", i) }

// comesTo waits until count Networks have a ManagedResource.
func (w *world) comesTo(count int) {
	w.t.Helper()
	w.Eventually(func() int { return w.resourceManager() }).Should(BeNumerically(">=", count), "ManagedResources")
}

// workers is the default number of Networks that a replica reconciles at once.
const workers = 5

// doneOnce checks the requests that the replicas have sent. The replicas are in the order in
// which they were leaders. Each Network had the same requests, except those that a leader was
// reconciling when it lost the lead. No replica wrote to a Network after its successor did.
func (w *world) doneOnce(leaders ...*replica) {
	w.t.Helper()
	by := make([]map[string][]written, len(leaders))
	for i, leader := range leaders {
		by[i] = map[string][]written{}
		for _, one := range leader.writes(w.t) {
			by[i][one.namespace()] = append(by[i][one.namespace()], one)
		}
	}
	courses := map[string]int{}
	for n := range networkCount {
		var course []string
		var before time.Time
		for _, leader := range by {
			for _, one := range leader[namespaceName(n)] {
				w.Expect(one.at).To(BeTemporally(">=", before), "two replicas reconciled %s at once", namespaceName(n))
				before = one.at
				if one.landed() {
					course = append(course, one.relative())
				}
			}
		}
		slices.Sort(course) // the order of the Secrets and ManagedResources of several bundles varies
		courses[strings.Join(course, ", ")]++
	}
	usual, most := "", 0
	for course, count := range courses {
		if count > most {
			usual, most = course, count
		}
	}
	w.t.Logf("%d of %d Networks took %s", most, networkCount, usual)
	w.Expect(most).To(BeNumerically(">=", networkCount-workers*(len(leaders)-1)), "%v", courses)
	for i, leader := range leaders {
		w.Expect(leader.writes(w.t)).NotTo(BeEmpty(), "replica %d must have reconciled Networks", i)
	}
}

// replica is an operator's process.
type replica struct {
	*exec.Cmd
	audit string
	// ended is closed when the process has ended, with err.
	ended chan struct{}
	err   error
}

func (w *world) startReplica(name string) *replica {
	folder := w.t.TempDir()
	log, err := os.Create(filepath.Join(folder, "log"))
	w.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	r := &replica{Cmd: exec.Command(os.Args[0]), audit: filepath.Join(folder, "audit"), ended: make(chan struct{})}
	w.Expect(os.WriteFile(r.audit, nil, 0o600)).To(Succeed())
	r.Env = append(os.Environ(), asOperator+"="+w.box.Seed.Users[operatorUser],
		operatorConfig+"="+replicaConfig, operatorAudit+"="+r.audit)
	r.Stdout, r.Stderr = log, log
	w.Expect(r.Start()).To(Succeed())
	go func() {
		defer close(r.ended)
		r.err = r.Wait()
	}()
	w.t.Cleanup(func() {
		_ = r.Process.Kill()
		<-r.ended
		if w.t.Failed() {
			content, _ := os.ReadFile(log.Name())
			w.t.Logf("the log of the %s replica:\n%s", name, content[max(0, len(content)-10000):])
		}
	})
	return r
}

// ends waits for the end of the process, and returns its error.
func (r *replica) ends() error {
	select {
	case <-r.ended:
		return r.err
	case <-time.After(patience):
		return errors.New("the replica does not end")
	}
}

// written is a request that writes: when it was sent, and the answer's status code, which is
// 0 if the process ended before the answer.
type written struct {
	at           time.Time
	code         int
	method, path string
}

// namespace returns the object's namespace, from /apis/GROUP/VERSION/namespaces/NAMESPACE/….
func (o written) namespace() string {
	_, after, _ := strings.Cut(o.path, "/namespaces/")
	namespace, _, _ := strings.Cut(after, "/")
	return namespace
}

// relative returns the method and the path after the namespace.
func (o written) relative() string {
	_, after, _ := strings.Cut(o.path, "/"+o.namespace()+"/")
	return o.method + " " + after
}

func (o written) landed() bool { return o.code/100 == 2 }

// writes returns the requests by which the replica wrote. It omits Leases, Events, and the
// reports of health, which may change at any time.
func (r *replica) writes(t *testing.T) (all []written) {
	file, err := os.ReadFile(r.audit)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	place := map[string]int{}
	for line := range strings.Lines(string(file)) {
		var number, stamp, method, path string
		var code int
		if n, _ := fmt.Sscan(line, &number, &code, &stamp, &method, &path); n < 5 || !strings.HasSuffix(line, "\n") ||
			strings.Contains(path, "/leases") || strings.Contains(path, "/events") || method == applying {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, stamp)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if i, sent := place[number]; sent {
			all[i].code = code
			continue
		}
		place[number] = len(all)
		all = append(all, written{at, code, method, path})
	}
	return all
}

// applying is the method of a server-side apply in an audit.
const applying = "APPLY"

// audit makes a client log each request that writes: one line when the client sends it, and
// one when the answer arrives. If file is empty, it does nothing.
func audit(config *rest.Config, file string) error {
	if file == "" {
		return nil
	}
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	var numbers atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return harness.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet {
				return next.RoundTrip(request)
			}
			method := request.Method
			if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
				method = applying
			}
			number, stamp := numbers.Add(1), time.Now().Format(time.RFC3339Nano)
			note := func(code int) { fmt.Fprintf(log, "%d %d %s %s %s\n", number, code, stamp, method, request.URL.Path) }
			note(0)
			response, err := next.RoundTrip(request)
			if err == nil {
				note(response.StatusCode)
			}
			return response, err
		})
	})
	return nil
}

// createNetwork creates the objects that the gardenlet creates for a Shoot.
func (w *world) createNetwork(namespace string) {
	shoot := `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"one"},"spec":{"kubernetes":{"version":"1.36.3"}}}`
	network := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{
			Name: "one", Namespace: namespace,
			Annotations: map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile},
		},
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "calico", PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
		},
	}
	empty := runtime.RawExtension{Raw: []byte(`{}`)}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&extensionsv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec:       extensionsv1alpha1.ClusterSpec{CloudProfile: empty, Shoot: runtime.RawExtension{Raw: []byte(shoot)}},
		},
		network,
	} {
		w.Expect(w.seed.Create(w.t.Context(), object)).To(Succeed())
	}
}

// resourceManager sets the status of every ManagedResource with the network of a shoot to
// applied, as Gardener's resource manager does, and returns their number. No Network waits for
// the others.
func (w *world) resourceManager() (applied int) {
	list := &resourcesv1alpha1.ManagedResourceList{}
	w.Expect(w.seed.List(w.t.Context(), list)).To(Succeed())
	for i := range list.Items {
		mr := &list.Items[i]
		if mr.Spec.Class != nil || mr.Name == probe.BundleName {
			continue
		}
		if applied++; mr.Status.ObservedGeneration == mr.Generation {
			continue
		}
		before := mr.DeepCopy()
		harness.Applied(mr)
		w.Expect(client.IgnoreNotFound(w.seed.Status().Patch(w.t.Context(), mr, client.MergeFrom(before)))).To(Succeed())
	}
	return applied
}

// succeeded returns the number of Networks whose last operation succeeded.
func (w *world) succeeded() (count int) {
	list := &extensionsv1alpha1.NetworkList{}
	w.Expect(w.seed.List(w.t.Context(), list)).To(Succeed())
	for i := range list.Items {
		last := list.Items[i].Status.LastOperation
		if last != nil && last.State == corev1beta1.LastOperationStateSucceeded && list.Items[i].Annotations[extensionsv1alpha1.OperationAnnotation] == "" {
			count++
		}
	}
	return count
}

// deleteNetworks deletes all Networks and their namespaces, so that other tests do not see them.
func (w *world) deleteNetworks() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list := &extensionsv1alpha1.NetworkList{}
	w.Expect(w.seed.List(ctx, list)).To(Succeed())
	for i := range list.Items {
		n := &list.Items[i]
		w.Expect(w.seed.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Namespace}})).To(Succeed())
		w.Expect(w.seed.Delete(ctx, &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: n.Namespace}})).To(Succeed())
		before := n.DeepCopy()
		n.Finalizers = nil
		w.Expect(client.IgnoreNotFound(w.seed.Patch(ctx, n, client.MergeFrom(before)))).To(Succeed())
	}
	w.Eventually(ctx, func() int {
		left := &corev1.NamespaceList{}
		w.Expect(w.seed.List(ctx, left)).To(Succeed())
		return len(slices.DeleteFunc(left.Items, func(n corev1.Namespace) bool { return !strings.HasPrefix(n.Name, "shoot--replicas--") }))
	}).WithTimeout(patience).Should(BeZero())
}
