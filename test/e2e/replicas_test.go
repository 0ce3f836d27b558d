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

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/test/harness"
)

const (
	// crowd is how many Networks there are.
	crowd = 100
	// replicaConfig makes the next leader wait less than in production. As in a
	// landscape, the test plays the resource manager.
	replicaConfig = `
mode: Gardener
metrics: {bindAddress: "0"}
healthProbes: {bindAddress: "0"}
leaderElection: {resourceNamespace: default, leaseDuration: 12s, renewDeadline: 10s, retryPeriod: 500ms}
heartbeat: {namespace: default}
`
)

// Of several replicas one works. In the middle of a hundred Networks the leader falls
// silent, and after that the next one is killed: the one that is left carries on. None is
// lost, none is worked on by two at once, and the one that wakes up again does nothing.
func TestAnotherReplicaCarriesOn(t *testing.T) {
	w := arrive(t, forOthers)
	for i := range crowd {
		w.createNetwork(crowdName(i))
	}
	t.Cleanup(w.scatter)
	silent, next := w.startReplica("first"), w.startReplica("second")
	w.comesTo(crowd / 4)
	if len(next.writes(t)) > 0 {
		silent, next = next, silent
	}
	w.Expect(next.writes(t)).To(BeEmpty(), "only the leader works")
	w.Expect(silent.Process.Signal(syscall.SIGSTOP)).To(Succeed())
	w.comesTo(crowd / 2)
	last := w.startReplica("third")
	w.comesTo(crowd * 3 / 4)
	w.Expect(last.writes(t)).To(BeEmpty(), "only the leader works")
	_ = next.Process.Kill()
	w.Expect(next.ends()).NotTo(Succeed())
	w.Expect(w.succeeded()).To(BeNumerically("<", crowd), "it was killed in the middle")

	awake := time.Now()
	w.Expect(silent.Process.Signal(syscall.SIGCONT)).To(Succeed())
	w.Expect(silent.ends()).NotTo(Succeed(), "it is not the leader any more")
	w.Eventually(func() int { w.resourceManager(); return w.succeeded() }).Should(Equal(crowd))
	w.Expect(slices.DeleteFunc(silent.writes(t), func(one written) bool { return one.at.Before(awake) })).To(BeEmpty(), "it does nothing")
	w.doneOnce(silent, next, last)

	w.Expect(last.Process.Signal(syscall.SIGTERM)).To(Succeed())
	w.Expect(last.ends()).To(Succeed(), "a leader that is asked to stop ends in order")
}

func crowdName(i int) string { return fmt.Sprintf("shoot--crowd--%d", i) }

// comesTo waits until so many Networks have a ManagedResource.
func (w *world) comesTo(count int) {
	w.t.Helper()
	w.Eventually(func() int { return w.resourceManager() }).Should(BeNumerically(">=", count), "the work is under way")
}

// workers is how many Networks a replica works on at a time, by default.
const workers = 5

// doneOnce goes by what the replicas, in the order in which they were leaders, have sent.
// All Networks but those which a leader has left in the middle had the same done, by one
// of them; and no replica has touched a Network of which its successor had begun.
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
	for n := range crowd {
		var course []string
		var before time.Time
		for _, leader := range by {
			for _, one := range leader[crowdName(n)] {
				w.Expect(one.at).To(BeTemporally(">=", before), "%s is worked on by two at once", crowdName(n))
				before = one.at
				if one.landed() {
					course = append(course, one.what())
				}
			}
		}
		slices.Sort(course) // secrets and ManagedResources of several bundles
		courses[strings.Join(course, ", ")]++
	}
	usual, most := "", 0
	for course, count := range courses {
		if count > most {
			usual, most = course, count
		}
	}
	w.t.Logf("%d of %d Networks took %s", most, crowd, usual)
	w.Expect(most).To(BeNumerically(">=", crowd-workers*(len(leaders)-1)), "%v", courses)
	for i, leader := range leaders {
		w.Expect(leader.writes(w.t)).NotTo(BeEmpty(), "replica %d has worked", i)
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

// ends waits for the end of the process, and returns what it ended with.
func (r *replica) ends() error {
	select {
	case <-r.ended:
		return r.err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}

// written is a request that writes: when it was sent, and the answer, which is 0 if none
// came before the end.
type written struct {
	at           time.Time
	code         int
	method, path string
}

// namespace is that of the object, in /apis/GROUP/VERSION/namespaces/NAMESPACE/….
func (o written) namespace() string {
	_, after, _ := strings.Cut(o.path, "/namespaces/")
	namespace, _, _ := strings.Cut(after, "/")
	return namespace
}

// what is the request without the namespace.
func (o written) what() string {
	_, after, _ := strings.Cut(o.path, "/"+o.namespace()+"/")
	return o.method + " " + after
}

func (o written) landed() bool { return o.code/100 == 2 }

// writes are the requests with which the replica wrote, but for Leases, events, and what
// it has said of health, which may change at any time.
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

// applying is what an audit calls the method of a server-side apply.
const applying = "APPLY"

// audit makes a client write a line into a file for each request that writes, when it
// is sent and when it is answered. Without a file it does nothing.
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

// createNetwork makes what gardenlet makes of a Shoot.
func (w *world) createNetwork(namespace string) {
	shoot := `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","metadata":{"name":"one"},"spec":{"kubernetes":{"version":"1.36.3"}}}`
	network := &extensionsv1alpha1.Network{
		ObjectMeta: metav1.ObjectMeta{
			Name: "one", Namespace: namespace,
			Annotations: map[string]string{extensionsv1alpha1.OperationAnnotation: extensionsv1alpha1.OperationReconcile},
		},
		Spec: extensionsv1alpha1.NetworkSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "calico"}, PodCIDR: "100.96.0.0/11", ServiceCIDR: "100.64.0.0/13",
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

// resourceManager plays Gardener's: it says of every ManagedResource for a shoot
// that it is applied, and counts them.
func (w *world) resourceManager() (applied int) {
	list := &resourcesv1alpha1.ManagedResourceList{}
	w.Expect(w.seed.List(w.t.Context(), list)).To(Succeed())
	for i := range list.Items {
		mr := &list.Items[i]
		if mr.Spec.Class != nil {
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

// succeeded counts the Networks that are carried out.
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

// scatter leaves nothing of the crowd to other tests.
func (w *world) scatter() {
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
		return len(slices.DeleteFunc(left.Items, func(n corev1.Namespace) bool { return !strings.HasPrefix(n.Name, "shoot--crowd--") }))
	}).WithTimeout(patience).Should(BeZero())
}
