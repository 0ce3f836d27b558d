// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/network"
	"github.com/trellis-network/trellis/internal/shootclient"
	"github.com/trellis-network/trellis/internal/state"
	"github.com/trellis-network/trellis/plugin"
)

// world is the state of one run: a control plane, objects in the shoot, and one process of the
// operator after the other.
type world struct {
	*WithT
	t       *testing.T
	ctx     context.Context
	api     *api
	run     string
	trigger network.Trigger
	plugins []plugin.Plugin
	// kindsChange means that the run creates CRDs, so that discovery must not be cached.
	kindsChange bool
	// ofShoot means that the run has a Shoot, for which the operator makes the control plane.
	ofShoot bool

	// kinds are the kinds in the shoot that snapshots have.
	kinds []schema.GroupVersionKind

	past      past
	processes int
	// ownSecrets has the names of the Secrets that the test itself has written.
	ownSecrets []string
	lastSeen   map[string]*unstructured.Unstructured
	// lost is the ManagedResource that a user has deleted, and lostSecrets are the Secrets.
	lost        types.UID
	lostSecrets []string
	// keepsNodes means that the node of rollOut keeps the agent that it has.
	keepsNodes atomic.Bool
	// leave lets the next run of a life begin that has only one at a time.
	leave func()

	mu        sync.Mutex
	moment    int
	history   history
	lastWrite time.Time
}

var runs atomic.Int32

// emptyWorld is a run without a control plane. Its name has the process id, since the processes
// that run planted bugs share an API server.
func emptyWorld(t *testing.T, trigger network.Trigger, plugins ...plugin.Plugin) *world {
	t.Helper()
	w := &world{
		WithT: NewWithT(t), t: t, ctx: context.Background(), api: server(t), trigger: trigger, plugins: plugins,
		run: fmt.Sprintf("r%07x%04d", os.Getpid(), runs.Add(1)),
	}
	t.Cleanup(func() {
		if t.Failed() {
			w.logWrites()
		}
	})
	return w
}

// newWorld creates a control plane.
func newWorld(t *testing.T, trigger network.Trigger, plugins ...plugin.Plugin) *world {
	t.Helper()
	w := emptyWorld(t, trigger, plugins...)
	a := w.api
	w.Expect(a.client.Create(w.ctx, &corev1.Namespace{ObjectMeta: meta("", w.namespace())})).To(Succeed())
	w.Expect(a.client.Create(w.ctx, &corev1.Secret{
		ObjectMeta: meta(w.namespace(), shootclient.SecretName),
		Data:       map[string][]byte{shootclient.SecretKey: a.kubeconfig},
	})).To(Succeed())
	w.cluster(func(*corev1beta1.Shoot) {})
	return w
}

// logWrites logs the writes of the run.
func (w *world) logWrites() {
	var lines []string
	for _, one := range w.written() {
		line := one.String()
		if one.result != nil && one.resource == networks {
			line += " " + text(one.result, "status", "lastOperation", "type") + " " + text(one.result, "status", "lastOperation", "description")
		}
		if one.result != nil && one.resource == managedResources {
			line += " applied: " + conditionOf(one.result, "ResourcesApplied")
		}
		lines = append(lines, line)
	}
	w.t.Logf("%s wrote:\n%s", w.run, strings.Join(lines, "\n"))
}

func (w *world) namespace() string { return controlPlane + w.run }

// cluster creates or updates the Cluster. Its Shoot is a plain one, with a change.
func (w *world) cluster(change func(*corev1beta1.Shoot)) {
	s := &corev1beta1.Shoot{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1beta1.GroupVersion.String(), Kind: "Shoot"},
		ObjectMeta: meta(project, w.run),
	}
	change(s)
	raw, err := json.Marshal(s)
	w.Expect(err).NotTo(HaveOccurred())
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: meta("", w.namespace())}
	_, err = ctrl.CreateOrPatch(w.ctx, w.api.client, cluster, func() error {
		cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(`{}`)}
		cluster.Spec.Shoot = runtime.RawExtension{Raw: raw}
		return nil
	})
	w.Expect(err).NotTo(HaveOccurred())
}

// network returns the run's Network, as its user would write it.
func (w *world) network(config string, operation string) *extensionsv1alpha1.Network {
	n := &extensionsv1alpha1.Network{
		ObjectMeta: meta(w.namespace(), "one"),
		Spec: extensionsv1alpha1.NetworkSpec{
			Type: "example", ProviderConfig: &runtime.RawExtension{Raw: []byte(config)},
			PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16",
		},
	}
	if operation != "" {
		n.Annotations = map[string]string{extensionsv1alpha1.OperationAnnotation: operation}
	}
	return n
}

// create creates the Network.
func (w *world) create(config string) {
	operation := ""
	if w.trigger == network.TriggerOperation {
		operation = extensionsv1alpha1.OperationReconcile
	}
	w.Expect(w.api.client.Create(w.ctx, w.network(config, operation))).To(Succeed())
}

// edit patches the Network, as a user or the gardenlet does.
func (w *world) edit(config, operation string) {
	patch := map[string]any{}
	if config != "" {
		// A merge of the config alone would keep the fields that the new config does not have.
		before := w.read()
		after := before.DeepCopy()
		after.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
		raw, err := client.MergeFrom(before).Data(after)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(json.Unmarshal(raw, &patch)).To(Succeed())
	}
	if operation != "" {
		patch["metadata"] = map[string]any{"annotations": map[string]any{extensionsv1alpha1.OperationAnnotation: operation}}
	}
	raw, err := json.Marshal(patch)
	w.Expect(err).NotTo(HaveOccurred())
	n := &extensionsv1alpha1.Network{ObjectMeta: meta(w.namespace(), "one")}
	w.Expect(w.api.client.Patch(w.ctx, n, client.RawPatch("application/merge-patch+json", raw))).To(Succeed())
}

// delete deletes the Network.
func (w *world) delete() {
	w.Expect(client.IgnoreNotFound(w.api.client.Delete(w.ctx, &extensionsv1alpha1.Network{ObjectMeta: meta(w.namespace(), "one")}))).To(Succeed())
}

// read returns the Network, or nil if there is none.
func (w *world) read() *extensionsv1alpha1.Network {
	n, name := &extensionsv1alpha1.Network{}, "one"
	if w.ofShoot {
		name = w.run
	}
	err := w.api.client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace(), Name: name}, n)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return n
}

// managed returns a ManagedResource, or nil if there is none.
func (w *world) managed(name string) *resourcesv1alpha1.ManagedResource {
	mr := &resourcesv1alpha1.ManagedResource{}
	err := w.api.client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace(), Name: name}, mr)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return mr
}

// reports waits until the Network reports this last operation.
func (w *world) reports(operation, state string) {
	w.t.Helper()
	w.Eventually(func() string {
		n := w.read()
		if n == nil || n.Status.LastOperation == nil || n.Status.ObservedGeneration != n.Generation && state == "Succeeded" {
			return ""
		}
		return string(n.Status.LastOperation.Type) + " " + string(n.Status.LastOperation.State)
	}).WithPolling(50 * time.Millisecond).Should(Equal(operation + " " + state))
}

// awaitHealth waits until all ManagedResources are applied, and their health is reported.
func (w *world) awaitHealth() {
	w.t.Helper()
	w.Eventually(func() []string {
		list := &resourcesv1alpha1.ManagedResourceList{}
		w.Expect(w.api.client.List(w.ctx, list, client.InNamespace(w.namespace()))).To(Succeed())
		var left []string
		for i := range list.Items {
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list.Items[i])
			w.Expect(err).NotTo(HaveOccurred())
			mr := &unstructured.Unstructured{Object: raw}
			if health := conditionOf(mr, "ResourcesHealthy"); !isApplied(mr) || health != "True" && health != "False" {
				left = append(left, list.Items[i].Name)
			}
		}
		return left
	}).WithPolling(50 * time.Millisecond).Should(BeEmpty())
}

// tidied waits until the operator has deleted the Secrets of earlier contents. In a landscape
// Gardener's garbage collector deletes them (Gardener contract, L6). It does not run here, so
// tidied does not wait.
func (w *world) tidied() {
	w.t.Helper()
	if w.trigger == network.TriggerOperation {
		return
	}
	w.Eventually(func() []string { _, superseded := w.bundleSecrets(); return superseded }).WithPolling(pause).Should(BeEmpty())
}

// now returns the moment of the last start or end of a write.
func (w *world) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moment
}

// quietFor returns the time since the last write.
func (w *world) quietFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.lastWrite)
}

// restless is the time after which awaitQuiet fails.
const restless = time.Minute

// awaitQuiet waits until there was no write for a while.
func (w *world) awaitQuiet(while time.Duration) {
	w.t.Helper()
	for begun := time.Now(); ; {
		left := while - w.quietFor()
		if left <= 0 {
			return
		}
		if time.Since(begun) > restless {
			w.t.Fatalf("the writes did not stop within %s", restless)
		}
		<-time.After(left)
	}
}

// beginToWait makes quietFor count from now.
func (w *world) beginToWait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastWrite = time.Now()
}

// rollOut reports, until the run ends, that the agents run on one node, as the DaemonSet controller does.
func (w *world) rollOut() {
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			agents := named(w, "agent", &appsv1.DaemonSet{})
			err := w.api.client.Get(ctx, client.ObjectKeyFromObject(agents), agents)
			if err != nil || w.keepsNodes.Load() || agents.Status.ObservedGeneration == agents.Generation {
				return // it may not exist
			}
			before := agents.DeepCopy()
			agents.Status = appsv1.DaemonSetStatus{
				ObservedGeneration: agents.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberReady: 1, NumberAvailable: 1,
			}
			_ = w.api.client.Status().Patch(ctx, agents, client.MergeFrom(before)) // again in a moment
		}, pause)
	}()
}

// isOnTheWay reports whether the Network changes in steps.
func (w *world) isOnTheWay() bool {
	kept, err := state.Decode(w.read().Status.State)
	w.Expect(err).NotTo(HaveOccurred())
	return kept.Transition != nil
}

// calm waits until a new process has reconciled everything, and writes nothing more.
func (w *world) calm() {
	w.beginToWait()
	w.awaitQuiet(syncPeriod)
}
