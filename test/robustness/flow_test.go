// SPDX-License-Identifier: Apache-2.0

package robustness

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/cloudconfig"
	"github.com/trellis-network/trellis/internal/controller/shoot"
	"github.com/trellis-network/trellis/internal/controlplane"
	"github.com/trellis-network/trellis/providers/local"
	"github.com/trellis-network/trellis/test/harness"
)

// withInfrastructure is the life of a Shoot: its Infrastructure, its Network, its ControlPlane,
// and the cloud config of its kube-controller-manager. The process has the controllers of all of
// them. The resource manager is another process, which never dies: all runs have one cluster,
// which can have the objects of one Shoot only.
var withInfrastructure = &life{name: "with an infrastructure", trigger: byEdit, ofShoot: true, scenarios: []*scenario{
	{name: "create", act: (*world).createShoot, finish: shootReports("Create")},
	{name: "lose the cloud config", before: (*world).createControllerManager, act: (*world).loseCloudConfig, finish: adapted},
	{name: "change", act: (*world).changeShoot, finish: shootReports("Reconcile")},
	{name: "ask again", act: (*world).askInfrastructure, finish: answeredAgain},
	{name: "delete", act: (*world).deleteShoot, finish: shootGone, everythingGoes: true},
}}

// clouds is what the kube-controller-managers on the infrastructure get.
var clouds = map[string]controlplane.Cloud{"local": {VolumePlugin: "aws", Config: "[Global]\n"}}

// Names of resources in paths.
const (
	infrastructures = "infrastructures"
	controlPlanes   = "controlplanes"
)

// newWorldOfShoot starts the resource manager of a control plane, which the operator will make.
func newWorldOfShoot(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t, byEdit)
	w.ofShoot = true
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		ticks := time.NewTicker(100 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticks.C:
				w.applyManaged()
			}
		}
	}()
	return w
}

// applyManaged reports each ManagedResource as applied. What fails is tried again.
func (w *world) applyManaged() {
	list := &resourcesv1alpha1.ManagedResourceList{}
	if w.api.client.List(w.ctx, list, client.InNamespace(w.namespace())) != nil {
		return
	}
	for i := range list.Items {
		mr := &list.Items[i]
		if mr.Status.ObservedGeneration == mr.Generation {
			continue
		}
		before := mr.DeepCopy()
		harness.Applied(mr)
		_ = w.api.client.Status().Patch(w.ctx, mr, client.MergeFrom(before))
	}
}

// addFlow adds the controllers of Shoots and of their infrastructure.
func (w *world) addFlow(mgr ctrl.Manager) {
	w.Expect(shoot.Add(mgr, shoot.Options{Infrastructures: []string{"local"}})).To(Succeed())
	w.Expect(local.Provider.AddControllers(mgr)).To(Succeed())
	w.Expect(cloudconfig.Add(mgr, cloudconfig.Options{Clouds: clouds})).To(Succeed())
}

// lookAtFlow adds to a snapshot what a control plane without Shoot does not have.
func (w *world) lookAtFlow(note func(cluster string, kind schema.GroupVersionKind, options ...client.ListOption)) {
	extension := func(kind string) schema.GroupVersionKind { return extensionsv1alpha1.GroupVersion.WithKind(kind) }
	named := func(name string) client.ListOption { return client.MatchingFields{"metadata.name": name} }
	note(inSeed, extension("Infrastructure"), client.InNamespace(w.namespace()))
	note(inSeed, extension("ControlPlane"), client.InNamespace(w.namespace()))
	note(inSeed, extension("Cluster"), named(w.namespace()))
	note(inSeed, corev1beta1.GroupVersion.WithKind("Shoot"), client.InNamespace(project), named(w.run))
	note(inSeed, appsv1.SchemeGroupVersion.WithKind("Deployment"), client.InNamespace(w.namespace()))
}

func (w *world) theShoot() *corev1beta1.Shoot {
	return &corev1beta1.Shoot{ObjectMeta: meta(project, w.run)}
}

// configured gives a Shoot configurations of one version.
func configured(s *corev1beta1.Shoot, config string, version int) {
	of := func(kind string) *runtime.RawExtension {
		return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"local.provider.extensions.gardener.cloud/v1alpha1","kind":%q,"version":%d,"nothing":null}`, kind, version)}
	}
	s.Spec.Provider.InfrastructureConfig, s.Spec.Provider.ControlPlaneConfig = of("InfrastructureConfig"), of("ControlPlaneConfig")
	s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: []byte(config)}
}

func (w *world) createShoot() {
	w.Expect(w.api.client.Create(w.ctx, &corev1.Secret{
		ObjectMeta: meta(project, w.run+".kubeconfig"), Data: map[string][]byte{"kubeconfig": w.api.kubeconfig},
	})).To(Succeed())
	s := w.theShoot()
	s.Spec.Region, s.Spec.Kubernetes.Version = "here", "1.36.3"
	s.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 2}}}
	s.Spec.Networking = &corev1beta1.Networking{Type: new("example"), Nodes: new("10.250.0.0/16")}
	configured(s, red, 1)
	w.Expect(w.api.client.Create(w.ctx, s)).To(Succeed())
}

// user changes an object as a user does.
func user[T client.Object](w *world, object T, f func(T)) {
	w.Expect(w.api.client.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(T)
	f(object)
	w.Expect(w.api.client.Patch(w.ctx, object, client.MergeFrom(before))).To(Succeed())
}

func (w *world) changeShoot() {
	user(w, w.theShoot(), func(s *corev1beta1.Shoot) { configured(s, blue, 2) })
}

func (w *world) deleteShoot() { w.Expect(w.api.client.Delete(w.ctx, w.theShoot())).To(Succeed()) }

// createControllerManager creates the kube-controller-manager before it is adapted.
func (w *world) createControllerManager() {
	labels := map[string]string{"app": "kubernetes"}
	d := &appsv1.Deployment{ObjectMeta: meta(w.namespace(), controlplane.KubeControllerManager)}
	d.Labels = map[string]string{controlplane.MutatedLabel: "true"}
	d.Spec.Replicas, d.Spec.Selector, d.Spec.Template.Labels = new(int32(0)), &metav1.LabelSelector{MatchLabels: labels}, labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: controlplane.KubeControllerManager, Image: "example.org/kube-controller-manager:1", Command: []string{"kube-controller-manager", "--v=2"},
	}}
	w.Expect(w.api.client.Create(w.ctx, d)).To(Succeed())
}

func (w *world) loseCloudConfig() {
	w.Expect(w.api.client.Delete(w.ctx, &corev1.ConfigMap{ObjectMeta: meta(w.namespace(), controlplane.ConfigMapName)})).To(Succeed())
}

// askInfrastructure requests a reconciliation of an unchanged Infrastructure, as gardenlets do.
func (w *world) askInfrastructure() {
	user(w, &extensionsv1alpha1.Infrastructure{ObjectMeta: meta(w.namespace(), w.run)}, func(i *extensionsv1alpha1.Infrastructure) {
		metav1.SetMetaDataAnnotation(&i.ObjectMeta, extensionsv1alpha1.OperationAnnotation, reconcile)
		metav1.SetMetaDataAnnotation(&i.ObjectMeta, extensionsv1alpha1.TimestampAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	})
}

// shootReports waits until the Shoot has succeeded, and reports this operation.
func shootReports(operation string) func(w *world) {
	return func(w *world) {
		w.t.Helper()
		w.Eventually(func() string {
			s := w.theShoot()
			w.Expect(w.api.client.Get(w.ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			if s.Status.LastOperation == nil || s.Status.ObservedGeneration != s.Generation {
				return ""
			}
			return string(s.Status.LastOperation.Type) + " " + string(s.Status.LastOperation.State)
		}).WithPolling(50 * time.Millisecond).Should(Equal(operation + " Succeeded"))
	}
}

func adapted(w *world) {
	w.Eventually(func() map[string]string {
		d := &appsv1.Deployment{}
		w.Expect(w.api.client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace(), Name: controlplane.KubeControllerManager}, d)).To(Succeed())
		return d.Spec.Template.Annotations
	}).Should(HaveKey(controlplane.ChecksumAnnotation))
}

func answeredAgain(w *world) {
	w.Eventually(func() map[string]string {
		i := &extensionsv1alpha1.Infrastructure{}
		w.Expect(w.api.client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace(), Name: w.run}, i)).To(Succeed())
		return i.Annotations
	}).ShouldNot(HaveKey(extensionsv1alpha1.OperationAnnotation))
	shootReports("Reconcile")(w)
}

func shootGone(w *world) {
	w.Eventually(func() error {
		s := w.theShoot()
		return w.api.client.Get(w.ctx, client.ObjectKeyFromObject(s), s)
	}).Should(MatchError(ContainSubstring("not found")))
}

// infrastructureFirst: a Network is created once its Infrastructure has succeeded, and a
// ControlPlane once the Network has.
func infrastructureFirst(h history, one *write, _ *scenario) string {
	if one.method != http.MethodPost || one.cluster != inSeed {
		return ""
	}
	after, has := map[string]string{networks: infrastructures, controlPlanes: networks}[one.resource]
	if !has {
		return ""
	}
	if last := h.before(one).of(inSeed, after).last(); last == nil || text(last.result, "status", "lastOperation", "state") != "Succeeded" {
		return "it was created before the " + after + " had succeeded"
	}
	return ""
}

// infrastructureLast: a ControlPlane is deleted once the Network is gone, and an Infrastructure
// once both are.
func infrastructureLast(h history, one *write, _ *scenario) string {
	if one.method != http.MethodDelete || one.cluster != inSeed {
		return ""
	}
	for _, before := range map[string][]string{controlPlanes: {networks}, infrastructures: {networks, controlPlanes}}[one.resource] {
		last := h.before(one).of(inSeed, before).last()
		if last != nil && (last.result.GetDeletionTimestamp() == nil || len(last.finalizers()) > 0) {
			return "it was deleted before the " + before
		}
	}
	return ""
}

// answeredFirst: a request is taken off an object of the infrastructure once its status answers
// it.
func answeredFirst(_ history, one *write, _ *scenario) string {
	if !one.is(inSeed, infrastructures) && !one.is(inSeed, controlPlanes) || one.result == nil {
		return ""
	}
	annotations := one.result.GetAnnotations()
	if annotations[extensionsv1alpha1.OperationAnnotation] != "" || annotations[extensionsv1alpha1.ConfirmationAnnotation] != "" {
		return ""
	}
	requested, _ := time.Parse(time.RFC3339Nano, annotations[extensionsv1alpha1.TimestampAnnotation])
	answered, _ := time.Parse(time.RFC3339, text(one.result, "status", "lastOperation", "lastUpdateTime"))
	if answered.Before(requested.Truncate(time.Second)) {
		return "a request was taken off without an answer"
	}
	return ""
}
