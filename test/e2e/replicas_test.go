// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
leaderElection: {resourceNamespace: default, leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
heartbeat: {namespace: default}
`
)

// Of two replicas one works. When it is killed in the middle of a hundred Networks
// the other carries on: none is lost, and no two processes ever work at once.
func TestAnotherReplicaCarriesOn(t *testing.T) {
	w := arrive(t, forOthers)
	for i := range crowd {
		w.createNetwork(fmt.Sprintf("shoot--crowd--%d", i))
	}
	t.Cleanup(w.scatter)
	first, second := w.startReplica("first"), w.startReplica("second")
	w.Eventually(func() int { return w.resourceManager() }).Should(BeNumerically(">=", crowd/4), "the work is under way")
	leader, other := first, second
	if len(second.writes(t)) > 0 {
		leader, other = second, first
	}
	w.Expect(other.writes(t)).To(BeEmpty(), "only the leader works")
	_ = leader.Process.Kill()
	_ = leader.Wait()
	w.Expect(w.succeeded()).To(BeNumerically("<", crowd), "it was killed in the middle")

	w.Eventually(func() int { w.resourceManager(); return w.succeeded() }).Should(Equal(crowd))
	before, after := leader.writes(t), other.writes(t)
	w.Expect(after).NotTo(BeEmpty())
	w.Expect(after[0]).To(BeTemporally(">", before[len(before)-1]))
	t.Logf("%d requests that write, and %d of the other replica, %v later", len(before), len(after), after[0].Sub(before[len(before)-1]).Round(time.Millisecond))

	_ = other.Process.Signal(syscall.SIGTERM)
	w.Expect(other.Wait()).To(Succeed(), "a leader that is asked to stop ends in order")
}

// replica is an operator's process.
type replica struct {
	*exec.Cmd
	audit string
}

func (w *world) startReplica(name string) *replica {
	folder := w.t.TempDir()
	log, err := os.Create(filepath.Join(folder, "log"))
	w.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	r := &replica{exec.Command(os.Args[0]), filepath.Join(folder, "audit")}
	r.Env = append(os.Environ(), asOperator+"="+w.box.Seed.Users[operatorUser],
		operatorConfig+"="+replicaConfig, operatorAudit+"="+r.audit)
	r.Stdout, r.Stderr = log, log
	w.Expect(r.Start()).To(Succeed())
	w.t.Cleanup(func() {
		_ = r.Process.Kill()
		_ = r.Wait()
		if w.t.Failed() {
			content, _ := os.ReadFile(log.Name())
			w.t.Logf("the log of the %s replica:\n%s", name, content[max(0, len(content)-10000):])
		}
	})
	return r
}

// writes are the times at which the replica wrote, but for Leases and events.
func (r *replica) writes(t *testing.T) (times []time.Time) {
	file, err := os.Open(r.audit)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		stamp, path, _ := strings.Cut(lines.Text(), " ")
		if strings.Contains(path, "/leases") || strings.Contains(path, "/events") {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, stamp)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		times = append(times, at)
	}
	return times
}

// audit makes a client write a line into a file for each request that writes, when
// it is sent. Without a file it does nothing.
func audit(config *rest.Config, file string) error {
	if file == "" {
		return nil
	}
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodGet {
				fmt.Fprintf(log, "%s %s\n", time.Now().Format(time.RFC3339Nano), request.URL.Path)
			}
			return next.RoundTrip(request)
		})
	})
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

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
		now := metav1.Now()
		mr.Status.ObservedGeneration = mr.Generation
		mr.Status.Conditions = []corev1beta1.Condition{{
			Type: resourcesv1alpha1.ResourcesApplied, Status: corev1beta1.ConditionTrue, Reason: "ApplySucceeded", LastTransitionTime: now, LastUpdateTime: now,
		}}
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
