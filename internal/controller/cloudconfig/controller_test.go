// SPDX-License-Identifier: Apache-2.0

package cloudconfig_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trellis-network/trellis/internal/controller/cloudconfig"
	"github.com/trellis-network/trellis/internal/controlplane"
	"github.com/trellis-network/trellis/test/harness"
)

var landscape = harness.Seed()

func TestMain(m *testing.M) { os.Exit(landscape.Main(m)) }

// controlPlane creates the namespace of a control plane on an infrastructure, with a Deployment
// kube-controller-manager.
func controlPlane(t *testing.T, seed *harness.Cluster, provider, label string) *appsv1.Deployment {
	t.Helper()
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "shoot--cloud--", Labels: map[string]string{"shoot.gardener.cloud/provider": provider},
	}}
	g.Expect(seed.Create(t.Context(), namespace)).To(Succeed())
	labels := map[string]string{"app": "kubernetes"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "kube-controller-manager", Labels: map[string]string{
		"provider.extensions.gardener.cloud/mutated-by-controlplane-webhook": label,
	}}}
	d.Spec.Replicas, d.Spec.Selector, d.Spec.Template.Labels = new(int32(0)), &metav1.LabelSelector{MatchLabels: labels}, labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: d.Name, Image: "example.org/kube-controller-manager:1"}}
	g.Expect(seed.Create(t.Context(), d)).To(Succeed())
	return d
}

func TestOnlyControlPlanesOnAConfiguredInfrastructureAreAdapted(t *testing.T) {
	g := NewWithT(t)
	seed := landscape.Seed(t)
	other, unlabelled, ours := controlPlane(t, seed, "clear", "true"), controlPlane(t, seed, "cloudy", "false"), controlPlane(t, seed, "cloudy", "true")
	namespaces := []string{other.Namespace, unlabelled.Namespace, ours.Namespace}
	clouds := map[string]controlplane.Cloud{"cloudy": {Config: "[Global]\n"}}
	var requests harness.Requests
	seed.Run(t, namespaces, &requests, func(mgr manager.Manager) error {
		return cloudconfig.Add(mgr, cloudconfig.Options{Clouds: clouds})
	}, func(options *ctrl.Options) { options.Cache.ByObject = cloudconfig.Watched() })

	isAdapted := func(d *appsv1.Deployment) bool {
		seed.Read(t, d)
		return d.Spec.Template.Annotations[controlplane.ChecksumAnnotation] != ""
	}
	g.Eventually(func() bool { return isAdapted(ours) }).Should(BeTrue())
	config := func(d *appsv1.Deployment) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "cloud-provider-config"}}
	}
	seed.Await(t, config(unlabelled))
	seed.Stays(t, ours, 700*time.Millisecond)
	g.Expect(isAdapted(unlabelled)).To(BeFalse(), "it does not ask for it")
	g.Expect(isAdapted(other)).To(BeFalse())
	g.Expect(client.IgnoreNotFound(seed.Get(t.Context(), client.ObjectKeyFromObject(other), config(other)))).To(Succeed())
	g.Expect(requests.All(other.Namespace)).To(BeEmpty(), "nothing is read or written there")
}
