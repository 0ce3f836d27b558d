// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controlplane"
	"github.com/trellis-network/trellis/test/harness"
)

const adaptedPlane = "shoot--core--aws-01"

// controllerManager is the kube-controller-manager of the extensibility overview's second
// example, as a gardenlet writes it.
func controllerManager(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "kubernetes", "role": "controller-manager"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-controller-manager", Labels: map[string]string{
		"provider.extensions.gardener.cloud/mutated-by-controlplane-webhook": "true",
	}}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "kube-controller-manager", Image: "registry.k8s.io/kube-controller-manager:v1.30.0",
		Command: []string{
			"/usr/local/bin/kube-controller-manager",
			"--allocate-node-cidrs=true",
			"--attach-detach-reconcile-sync-period=1m0s",
			"--controllers=*,bootstrapsigner,tokencleaner",
			"--cluster-cidr=100.96.0.0/11",
			"--cluster-name=" + namespace,
			"--cluster-signing-cert-file=/srv/kubernetes/ca/ca.crt",
			"--cluster-signing-key-file=/srv/kubernetes/ca/ca.key",
			"--concurrent-deployment-syncs=10",
			"--concurrent-replicaset-syncs=10",
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "ca", MountPath: "/srv/kubernetes/ca"}},
	}}
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "ca", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ca"}}}}
	return d
}

// isAdapted checks what the example adds, and nothing else.
func (o *installed) isAdapted(g Gomega, d *appsv1.Deployment, checksum string) {
	o.t.Helper()
	before := controllerManager(d.Namespace).Spec.Template.Spec
	pods := d.Spec.Template
	g.Expect(pods.Spec.Containers[0].Command).To(Equal(append(before.Containers[0].Command,
		"--cloud-provider=external",
		"--external-cloud-volume-plugin=aws",
		"--cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf")))
	g.Expect(pods.Spec.Containers[0].VolumeMounts).To(Equal(append(before.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "cloud-provider-config", MountPath: "/etc/kubernetes/cloudprovider"})))
	g.Expect(pods.Spec.Volumes).To(HaveLen(2))
	g.Expect(pods.Spec.Volumes[1].Name).To(Equal("cloud-provider-config"))
	g.Expect(pods.Spec.Volumes[1].ConfigMap).To(HaveField("Name", "cloud-provider-config"))
	g.Expect(pods.Annotations).To(Equal(map[string]string{"checksum/configmap-cloud-provider-config": checksum}))
}

// The checksums of the cloud configs of this test.
const (
	ofZoneA = "2e9224ea9ca48a48ff4ec794d23eb3e1a83cc7d37c9471511bb488a90bb03708"
	ofZoneB = "a0ffa670c398670c1d9023b7530c736a80bca953e70ac49db04453c355075464"
)

// adapts makes the operator adapt control planes on AWS.
func (o *installed) adapts(mode, to string) {
	o.values = fmt.Sprintf(`{mode: %s, config: {controlPlane: {kubeControllerManager: [{provider: aws, externalCloudVolumePlugin: aws, %s}]}}}`, mode, to)
}

func cloudConfig(zone string) string {
	return fmt.Sprintf(`cloudConfig: "[Global]\nZone=\"%s\"\n"`, zone)
}

// The second example of the extensibility overview, with the rights that the chart adds for it, each
// of which the operator uses, and without them it removes what it has made.
func TestKubeControllerManagersAreAdaptedToTheirInfrastructure(t *testing.T) {
	for mode, seed := range map[string]*harness.Cluster{"standalone": landscape.Seed(t), "gardener": landscapeSeed(t)} {
		t.Run(mode, func(t *testing.T) { controlPlanesAreAdapted(t, seed, mode) })
	}
}

func controlPlanesAreAdapted(t *testing.T, seed *harness.Cluster, mode string) {
	t.Helper()
	const own = "trellis-control-planes"
	o := newInstalled(t, seed, own, "", pluginsOf("flannel"))
	ofAll, _ := o.installs("mode: " + mode)
	onAWS := func(name string) *corev1.Namespace {
		namespace := namespaceNamed(name)
		namespace.Labels = map[string]string{"shoot.gardener.cloud/provider": "aws"}
		return namespace
	}
	const older = "shoot--core--aws-00"
	o.create(onAWS(older), onAWS(adaptedPlane), namespaceNamed("shoot--core--other"))
	former := controllerManager(older)
	o.create(former)
	o.adapts(mode, cloudConfig("eu-west-1a"))
	o.start()

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: adaptedPlane, Name: "cloud-provider-config"}}
	hasConfig := func(zone string) {
		t.Helper()
		o.Eventually(func(g Gomega) {
			g.Expect(seed.Get(t.Context(), client.ObjectKeyFromObject(config), config)).To(Succeed())
			g.Expect(config.Data).To(Equal(map[string]string{"cloudprovider.conf": fmt.Sprintf("[Global]\nZone=%q\n", zone)}))
		}).Should(Succeed())
	}
	hasConfig("eu-west-1a")
	o.Eventually(func(g Gomega) {
		seed.Read(t, former)
		o.isAdapted(g, former, ofZoneA)
	}).Should(Succeed(), "it was there before the webhook")
	webhook := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "gardener-extension-trellis"}}
	seed.Await(t, webhook)
	o.Expect(webhook.OwnerReferences).To(ConsistOf(HaveField("Name", own)))

	o.Eventually(func(g Gomega) {
		_ = seed.Delete(t.Context(), controllerManager(adaptedPlane))
		written := controllerManager(adaptedPlane)
		g.Expect(seed.Create(t.Context(), written)).To(Succeed())
		o.isAdapted(g, written, ofZoneA)
	}).Should(Succeed(), "API servers call a new webhook after a moment")

	manager, again := controllerManager(adaptedPlane), controllerManager(adaptedPlane)
	o.Eventually(func() error { // the controller of Deployments writes, too
		seed.Read(t, manager)
		again = controllerManager(adaptedPlane)
		again.ResourceVersion, again.Annotations = manager.ResourceVersion, manager.Annotations
		return seed.Update(t.Context(), again)
	}).Should(Succeed())
	o.Expect(again.Generation).To(Equal(manager.Generation), "written again as it was, it comes out the same")
	o.isAdapted(o, again, ofZoneA)

	unlabelled, other, elsewhere := controllerManager(older), controllerManager(adaptedPlane), controllerManager("shoot--core--other")
	o.Expect(seed.Delete(t.Context(), former)).To(Succeed())
	unlabelled.Labels, other.Name = nil, "another"
	for _, left := range []*appsv1.Deployment{unlabelled, other, elsewhere} {
		o.create(left)
		o.Expect(left.Spec.Template.Spec.Containers[0].Command).To(Equal(controllerManager(left.Namespace).Spec.Template.Spec.Containers[0].Command), left.String())
	}

	harness.Change(t, seed, config, func(c *corev1.ConfigMap) { c.Data["cloudprovider.conf"] = "edited" })
	hasConfig("eu-west-1a")
	o.Expect(seed.Delete(t.Context(), config)).To(Succeed())
	hasConfig("eu-west-1a")
	harness.Change(t, seed, webhook, func(w *admissionregistrationv1.MutatingWebhookConfiguration) { w.Webhooks[0].ObjectSelector = nil })
	o.stop()

	err := seed.Update(t.Context(), again)
	o.Expect(apierrors.IsInternalError(err)).To(BeTrue(), "no kube-controller-manager is written without what it needs: %v", err)
	harness.Change(t, seed, other, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })

	o.adapts(mode, cloudConfig("eu-west-1b"))
	o.start()
	hasConfig("eu-west-1b")
	o.Eventually(func(g Gomega) {
		seed.Read(t, manager)
		o.isAdapted(g, manager, ofZoneB)
	}).Should(Succeed(), "pods that have read another cloud config are replaced")
	o.Eventually(func() *metav1.LabelSelector { seed.Read(t, webhook); return webhook.Webhooks[0].ObjectSelector }).ShouldNot(Or(BeNil(), Equal(&metav1.LabelSelector{})))
	o.stop()

	o.adapts(mode, `cloudConfigTemplate: "VPC={.status.providerStatus.vpc.id}"`)
	o.start()
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: adaptedPlane, Name: "aws-01"}}
	infrastructure.Spec.Type, infrastructure.Spec.Region = "aws", "eu-west-1"
	o.create(infrastructure)
	harness.ChangeStatus(t, seed, infrastructure, func(i *extensionsv1alpha1.Infrastructure) {
		i.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"kind":"InfrastructureStatus","vpc":{"id":"vpc-1234"}}`)}
	})
	o.Eventually(func(g Gomega) {
		seed.Read(t, config)
		g.Expect(config.Data).To(Equal(map[string]string{"cloudprovider.conf": "VPC=vpc-1234"}))
		seed.Read(t, manager)
		o.isAdapted(g, manager, controlplane.Cloud{Config: "VPC=vpc-1234"}.Checksum())
	}).Should(Succeed(), "the Infrastructure has the value")
	o.stop()

	o.values = "mode: " + mode
	o.start()
	o.isGone(webhook)
	o.stop()
	seed.Read(t, manager)
	paused := manager.DeepCopy()
	paused.Spec.Paused = true
	o.Eventually(func() error { return seed.Patch(t.Context(), paused.DeepCopy(), client.MergeFrom(manager)) }).Should(Succeed(), "nothing refuses it any longer")
	o.hasExactlyItsRights(ofAll)
}
