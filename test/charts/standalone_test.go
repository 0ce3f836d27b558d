// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	connectivityv1alpha1 "github.com/trellis-network/trellis/api/connectivity/v1alpha1"
	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/operator"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
	"github.com/trellis-network/trellis/test/harness"
)

// In a seed that has nothing but a release of the chart, the operator with the configuration of the
// chart, as the service account of the chart, gives a Shoot its network with the images of the values, and serves what docs/metrics.md
// documents, which is all that the alerts and the dashboard of the chart read.
func TestANetworkIsMadeWithTheChartAlone(t *testing.T) {
	g := NewWithT(t)
	seed, err := harness.Connect(landscape.Get(t).Seed.Kubeconfig) // without the CRDs that a landscape's Seed brings
	g.Expect(err).NotTo(HaveOccurred())
	const namespace = "trellis-system"
	metrics := freeAddress(g)
	objects := release{chart: "trellis-operator", name: "trellis", namespace: namespace, values: `
mode: standalone
config:
  metrics: {bindAddress: "` + metrics + `"}
  healthProbes: {bindAddress: "0"}
  leaderElection: {resourceNamespace: trellis-system} # the process is in no pod
  shootClientConnection: {allowedAddresses: [127.0.0.0/8]}
  controllers: {network: {rolloutStrategy: {}}} # has metrics of its own
imageVectorOverwrite: |
  images: [{name: calico-node, repository: mirror.example.org/node}]
`}.render(t)
	giveImageVector(t, objects)
	g.Expect(client.IgnoreAlreadyExists(seed.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))).To(Succeed())
	for _, object := range objects {
		g.Expect(seed.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("helm"), client.ForceOwnership)).To(Succeed())
	}

	shoot := &corev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-dev", Name: "one"}}
	shoot.Spec.Provider = corev1beta1.Provider{Type: "local", Workers: []corev1beta1.Worker{{Name: "one", Minimum: 1, Maximum: 2}}}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Networking = &corev1beta1.Networking{
		Type: new("calico"), Pods: new("100.64.0.0/12"), Services: new("100.96.0.0/13"), Nodes: new("10.250.0.0/16"),
	}
	g.Eventually(func() error { return seed.Create(t.Context(), shoot.DeepCopy()) }).Should(Succeed())

	account := rest.CopyConfig(seed.Config)
	account.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + find[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.ServiceAccountName
	log := harness.Lines{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Plugins: plugins.All(), Providers: providers.All(), Config: configurationOf(t, objects), Seed: account, Log: log.Logger(),
		})
	}()
	g.Eventually(func(g Gomega) {
		g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot)).To(Succeed())
		g.Expect(shoot.Status.LastOperation).To(HaveField("State", corev1beta1.LastOperationStateSucceeded))
	}).Should(Succeed())
	agents := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "calico-node"}}
	cluster, err := harness.Connect(landscape.Get(t).Shoots[0].Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.Get(t.Context(), client.ObjectKeyFromObject(agents), agents)).To(Succeed())
	g.Expect(agents.Spec.Template.Spec.Containers).To(ContainElement(HaveField("Image", HavePrefix("mirror.example.org/node:v"))))
	g.Eventually(func(g Gomega) {
		probesReport(t, g, cluster)
		expectServed(g, readMetrics(t, "metrics.md"), metrics)
	}).WithTimeout(2 * time.Minute).WithPolling(5 * time.Second).Should(Succeed())
	g.Expect(seed.Delete(t.Context(), shoot)).To(Succeed())
	g.Eventually(func() error { return seed.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot) }).
		Should(MatchError(ContainSubstring("not found")))
	cancel()
	g.Expect(<-ended).To(Succeed())
}

// probesReport writes what the probes on the two nodes of a cluster would report, since simulated nodes run
// no program: each reaches the other.
func probesReport(t *testing.T, g Gomega, cluster *harness.Cluster) {
	t.Helper()
	scheme := runtime.NewScheme()
	g.Expect(connectivityv1alpha1.AddToScheme(scheme)).To(Succeed())
	reports, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	nodes := &corev1.NodeList{}
	g.Expect(cluster.List(t.Context(), nodes)).To(Succeed())
	g.Expect(nodes.Items).To(HaveLen(2))
	now := metav1.Now()
	for i := range nodes.Items {
		made := &connectivityv1alpha1.NodeConnectivity{ObjectMeta: metav1.ObjectMeta{Name: nodes.Items[i].Name}}
		_, err := controllerutil.CreateOrUpdate(t.Context(), reports, made, func() error {
			result := connectivityv1alpha1.Result{Name: nodes.Items[1-i].Name, Address: "100.64.0.2:8099", Attempts: 30, LastSuccess: &now}
			check := connectivityv1alpha1.Check{
				Family: connectivityv1alpha1.IPv4, Type: connectivityv1alpha1.CheckPods, Targets: 1, Results: []connectivityv1alpha1.Result{result},
			}
			made.Report = connectivityv1alpha1.Report{Time: now, ProbeVersion: "v9.8.7", Peers: 1, Targets: 1, Checks: []connectivityv1alpha1.Check{check}}
			return nil
		})
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// With the CRDs would go all Networks, and with them the networks of running clusters.
func TestTheCRDsStayWhenTheReleaseIsDeleted(t *testing.T) {
	g := NewWithT(t)
	standalone := releases["the operator standalone"]
	standalone.namespace = "trellis-system"
	var kept int
	for _, object := range standalone.render(t) {
		if object.GetKind() == "CustomResourceDefinition" {
			kept++
			g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
		}
	}
	g.Expect(kept).To(Equal(6))

	onSeed := releases["the operator on a seed"]
	onSeed.namespace = "extension-trellis"
	for _, object := range onSeed.render(t) {
		g.Expect(object.GetKind()).NotTo(Or(Equal("CustomResourceDefinition"), HavePrefix("ValidatingAdmissionPolicy")), "Gardener has its own")
	}
}
