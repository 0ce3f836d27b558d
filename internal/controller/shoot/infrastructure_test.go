// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	extensionsv1alpha1 "github.com/trellis-network/trellis/api/extensions/v1alpha1"
	"github.com/trellis-network/trellis/internal/controller/shoot"
)

// What the first example of the extensibility overview has in the Infrastructure of a cluster on
// AWS, and what AWS' controller reports. What follows is not the example's: nothing that JSON can
// have may get lost.
const (
	exampleConfig = `
apiVersion: aws.provider.extensions.gardener.cloud/v1alpha1
kind: InfrastructureConfig
networks:
  vpc:
    cidr: 10.250.0.0/16
  internal:
  - 10.250.112.0/22
  public:
  - 10.250.96.0/22
  workers:
  - 10.250.0.0/19
zones:
- eu-west-1a
`
	infrastructureConfig = exampleConfig + `
nothing: null
large: 9007199254740993
"": [{}, [], "", false, "<&>\u0000"]
`
	infrastructureStatus = `
apiVersion: aws.provider.extensions.gardener.cloud/v1alpha1
kind: InfrastructureStatus
vpc:
  id: vpc-1234
  subnets:
  - id: subnet-acbd1234
    name: workers
    zone: eu-west-1
  securityGroups:
  - id: sg-xyz12345
    name: workers
iam:
  nodesRoleARN: <some-arn>
  instanceProfileName: foo
ec2:
  keyName: bar
nothing: null
`
)

// blob returns the JSON that the API server makes of a document.
func (e *env) blob(document string) *runtime.RawExtension {
	e.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	e.Expect(err).NotTo(HaveOccurred())
	return &runtime.RawExtension{Raw: raw}
}

// withInfrastructure is a project whose seed has controllers for AWS.
func withInfrastructure(t *testing.T) *env {
	t.Helper()
	e := project(t)
	e.stop = e.run(&e.requests.Requests, func(mgr manager.Manager) error {
		return shoot.Add(mgr, shoot.Options{Infrastructures: []string{"aws"}})
	})
	return e
}

// shootOnAWS is the Shoot example on AWS, with its kubeconfig.
func (e *env) shootOnAWS(change ...func(*corev1beta1.Shoot)) *corev1beta1.Shoot {
	e.t.Helper()
	e.kubeconfig(kubeconfig)
	return e.shoot(append([]func(*corev1beta1.Shoot){e.onAWS}, change...)...)
}

func (e *env) onAWS(s *corev1beta1.Shoot) {
	// A Shoot that was decoded is encoded as a change of its document, which rounds large numbers.
	*s = corev1beta1.Shoot{ObjectMeta: s.ObjectMeta, Spec: s.Spec}
	s.Spec.Region = "eu-west-1"
	s.Spec.Provider.Type = "aws"
	s.Spec.Provider.InfrastructureConfig = e.blob(infrastructureConfig)
	s.Spec.Provider.ControlPlaneConfig = e.blob("{kind: ControlPlaneConfig, nothing: null}")
}

func (e *env) infrastructure() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.controlPlane}}
}

func (e *env) cloudControlPlane() *extensionsv1alpha1.ControlPlane {
	return &extensionsv1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.controlPlane}}
}

// controllerSays plays AWS' controller, which answers the last request.
func (e *env) controllerSays(object extensionsv1alpha1.Object, state corev1beta1.LastOperationState, change ...func(*extensionsv1alpha1.DefaultStatus)) {
	e.t.Helper()
	e.appears(object)
	before := object.DeepCopyObject().(client.Object)
	object.SetAnnotations(nil)
	object.SetFinalizers([]string{"example.org/aws"})
	e.Expect(e.client.Patch(e.t.Context(), object, client.MergeFrom(before))).To(Succeed())
	before = object.DeepCopyObject().(client.Object)
	status := object.GetExtensionStatus()
	status.ObservedGeneration, status.LastError = object.GetGeneration(), nil
	status.LastOperation = &corev1beta1.LastOperation{Type: reconcile, State: state, Progress: 50, Description: "as AWS says", LastUpdateTime: metav1.Now()}
	for _, c := range change {
		c(status)
	}
	e.Expect(e.client.Status().Patch(e.t.Context(), object, client.MergeFrom(before))).To(Succeed())
}

func (e *env) isAbsent(object client.Object) {
	e.t.Helper()
	e.Expect(e.client.Get(e.t.Context(), client.ObjectKeyFromObject(object), object)).To(MatchError(ContainSubstring("not found")))
}

func reported(status *runtime.RawExtension) func(*extensionsv1alpha1.DefaultStatus) {
	return func(s *extensionsv1alpha1.DefaultStatus) { s.ProviderStatus = status }
}

// The first example of the extensibility overview.
func TestTheInfrastructureComesBeforeTheNetworkAndTheControlPlaneAfterIt(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shoot(e.onAWS)
	written := s.DeepCopy() // as the API server has encoded it

	e.Expect(string(written.Spec.Provider.InfrastructureConfig.Raw)).To(ContainSubstring("9007199254740993"))

	infrastructure, controlPlane := e.infrastructure(), e.cloudControlPlane()
	e.appears(infrastructure)
	e.appears(e.cluster())
	e.becomes(s, create, processing, "Waiting until the Infrastructure", `observed generation outdated (0/1)`)
	e.Expect(infrastructure.Annotations).To(HaveKeyWithValue("gardener.cloud/operation", "reconcile"))
	_, err := time.Parse(time.RFC3339Nano, infrastructure.Annotations["gardener.cloud/timestamp"])
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(infrastructure.Spec).To(Equal(extensionsv1alpha1.InfrastructureSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "aws", ProviderConfig: written.Spec.Provider.InfrastructureConfig},
		Region:      "eu-west-1", SecretRef: corev1.SecretReference{Namespace: e.project, Name: "example.cloudprovider"},
	}), "the configuration byte for byte")
	e.isAbsent(e.network())

	e.controllerSays(infrastructure, succeeded, reported(e.blob(infrastructureStatus)))
	e.kubeconfig(kubeconfig)
	e.applied()
	e.appears(e.network())
	e.becomes(s, create, processing, "Waiting until the Network")
	e.isAbsent(controlPlane)

	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.appears(controlPlane)
	e.get(infrastructure)
	e.Expect(controlPlane.Spec).To(Equal(extensionsv1alpha1.ControlPlaneSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "aws", ProviderConfig: written.Spec.Provider.ControlPlaneConfig},
		Region:      "eu-west-1", SecretRef: infrastructure.Spec.SecretRef, InfrastructureProviderStatus: infrastructure.Status.ProviderStatus,
	}), "what the infrastructure reports byte for byte")
	e.becomes(s, create, processing, "Waiting until the ControlPlane")
	e.controllerSays(controlPlane, succeeded)
	e.becomes(s, create, succeeded)

	e.stays(s)
	e.requests.reset(0)
	e.touch(infrastructure)
	e.touch(controlPlane)
	e.stays(s)
	e.Expect(e.requests.All()).To(BeEmpty(), "an unchanged Shoot costs no request")

	e.controllerSays(infrastructure, succeeded, reported(e.blob("{kind: InfrastructureStatus, another: true}")))
	e.Eventually(func() *runtime.RawExtension {
		e.get(controlPlane)
		return controlPlane.Spec.InfrastructureProviderStatus
	}).
		Should(Equal(e.blob(`{"another":true,"kind":"InfrastructureStatus"}`)))
	e.Expect(controlPlane.Annotations).To(HaveKeyWithValue("gardener.cloud/operation", "reconcile"))
	e.controllerSays(controlPlane, succeeded)
	e.becomes(s, reconcile, succeeded)

	e.deletesInOrder(s)
}

// deletesInOrder deletes a Shoot with an Infrastructure and a ControlPlane, whose controllers need
// the Cluster to the end.
func (e *env) deletesInOrder(s *corev1beta1.Shoot) {
	e.t.Helper()
	e.Expect(e.client.Delete(e.t.Context(), s)).To(Succeed())
	e.gone(e.network())
	e.gone(e.prerequisites())
	for _, left := range [][]client.Object{{e.cloudControlPlane(), e.infrastructure(), e.cluster()}, {e.infrastructure(), e.cluster()}} {
		first := left[0]
		e.Eventually(func() *metav1.Time { e.get(first); return first.GetDeletionTimestamp() }).WithTimeout(time.Minute).ShouldNot(BeNil())
		e.Expect(first.GetAnnotations()).To(HaveKeyWithValue("confirmation.gardener.cloud/deletion", "true"))
		requested, err := time.Parse(time.RFC3339Nano, first.GetAnnotations()["gardener.cloud/timestamp"])
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(requested).To(BeTemporally("~", first.GetDeletionTimestamp().Time, time.Minute))
		for _, later := range left[1:] {
			e.get(later)
			e.Expect(later.GetDeletionTimestamp()).To(BeNil(), "%T", later)
		}
		patch(e, first, func(o client.Object) { o.SetFinalizers(nil) })
	}
	e.gone(s)
}

// The configuration may change while there are clusters.
func TestAnInfrastructureIsDeletedInOrderAlthoughItsTypeIsNoLongerListed(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shoot(e.onAWS)
	e.controllerSays(e.infrastructure(), succeeded)
	e.kubeconfig(kubeconfig)
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.controllerSays(e.cloudControlPlane(), succeeded)
	e.becomes(s, create, succeeded)
	e.stop()
	e.start()
	e.deletesInOrder(s)
}

func TestAnErrorOfTheInfrastructuresDeletionIsReported(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shoot(e.onAWS)
	infrastructure := e.infrastructure()
	e.controllerSays(infrastructure, succeeded)
	e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
	e.becomes(s, deleting, processing, "Waiting until the Infrastructure "+e.controlPlane+"/example is gone")
	e.controllerSays(infrastructure, failing, func(status *extensionsv1alpha1.DefaultStatus) {
		status.LastOperation.Type = deleting
		status.LastError = &corev1beta1.LastError{Description: "Error deleting Infrastructure: the VPC is in use", Codes: []corev1beta1.ErrorCode{"ERR_INFRA_DEPENDENCIES"}}
	})
	e.becomes(s, deleting, failing, "Error deleting Infrastructure: the VPC is in use")
	e.Expect(s.Status.LastErrors).To(ConsistOf(And(
		HaveField("Codes", ConsistOf(corev1beta1.ErrorCode("ERR_INFRA_DEPENDENCIES"))), HaveField("TaskID", HaveValue(Equal("Deleting the Infrastructure"))))))
	patch(e, infrastructure, func(i *extensionsv1alpha1.Infrastructure) { i.Finalizers = nil })
	e.gone(s)
}

func TestAnErrorOfTheInfrastructureStopsTheShootAndIsReported(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shootOnAWS()
	failed := func(status *extensionsv1alpha1.DefaultStatus) {
		status.LastError = &corev1beta1.LastError{Description: "Error reconciling Infrastructure: no such VPC", Codes: []corev1beta1.ErrorCode{"ERR_INFRA_DEPENDENCIES"}}
	}
	e.controllerSays(e.infrastructure(), failing, failed)
	e.becomes(s, create, failing, "Error reconciling Infrastructure: no such VPC")
	e.Expect(s.Status.LastErrors).To(ConsistOf(And(
		HaveField("Codes", ConsistOf(corev1beta1.ErrorCode("ERR_INFRA_DEPENDENCIES"))), HaveField("TaskID", HaveValue(Equal("Waiting for the Infrastructure"))))))
	e.isAbsent(e.network())

	e.controllerSays(e.infrastructure(), processing, failed)
	e.becomes(s, create, processing, "error during reconciliation: Error reconciling Infrastructure: no such VPC")
	e.controllerSays(e.infrastructure(), succeeded)
	e.appears(e.network())
}

func TestAShootWithoutAnInfrastructureHasNone(t *testing.T) {
	for name, change := range map[string]func(*env, *corev1beta1.Shoot){
		"without a configuration":          func(_ *env, s *corev1beta1.Shoot) { s.Spec.Provider.Type = "aws" },
		"of a type without any controller": func(e *env, s *corev1beta1.Shoot) { e.onAWS(s); s.Spec.Provider.Type = "another" },
	} {
		t.Run(name, func(t *testing.T) {
			e := withInfrastructure(t)
			s := e.finished(func(s *corev1beta1.Shoot) { change(e, s) })
			e.isAbsent(e.infrastructure())
			e.isAbsent(e.cloudControlPlane())
			for _, line := range e.requests.All() {
				e.Expect(line).NotTo(Or(ContainSubstring("/infrastructures"), ContainSubstring("/controlplanes")))
			}
			e.Expect(e.client.Delete(t.Context(), s)).To(Succeed())
			e.gone(s)
		})
	}
}

func TestAClusterKeepsItsInfrastructure(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shootOnAWS()
	e.controllerSays(e.infrastructure(), succeeded)
	patch(e, s, func(s *corev1beta1.Shoot) { s.Spec.Provider.InfrastructureConfig = nil })
	e.becomes(s, create, failing, "spec.provider.infrastructureConfig: a cluster that has an Infrastructure must keep its configuration")
	e.stays(e.infrastructure())
}

func TestOnlySoMuchOfAnInfrastructureIsPassedOn(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shootOnAWS()
	large := &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"kind":"InfrastructureStatus","large":%q}`, strings.Repeat("x", 512<<10))}
	e.controllerSays(e.infrastructure(), succeeded, reported(large))
	e.applied()
	e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.becomes(s, create, failing, "The Infrastructure "+e.controlPlane+"/example reports a providerStatus of", "bytes, of which a ControlPlane can have 524288 at most")
	e.isAbsent(e.cloudControlPlane())
}

// A cluster of IPv6 has no default ranges.
func TestAShootGetsItsRangesFromItsInfrastructure(t *testing.T) {
	e := withInfrastructure(t)
	s := e.shootOnAWS(func(s *corev1beta1.Shoot) {
		s.Spec.Networking.Nodes, s.Spec.Networking.IPFamilies = nil, []string{"IPv6"}
	})
	infrastructure := e.infrastructure()
	reports := func(pods string) {
		e.controllerSays(infrastructure, succeeded, func(*extensionsv1alpha1.DefaultStatus) {
			infrastructure.Status.Networking = &extensionsv1alpha1.InfrastructureStatusNetworking{
				Pods: []string{pods}, Services: []string{"2001:db8:2::/108"}, Nodes: []string{"2001:db8:3::/64"},
			}
		})
	}
	reports("2001:db8:1::")
	e.becomes(s, create, failing, `status.networking.pods: Invalid value: "2001:db8:1::": must be a range such as`)
	e.isAbsent(e.network())

	reports("2001:db8:1::/56")
	e.applied()
	network := e.networkSays(succeeded, func(*extensionsv1alpha1.Network) {})
	e.Expect(network.Spec.PodCIDR + " " + network.Spec.ServiceCIDR).To(Equal("2001:db8:1::/56 2001:db8:2::/108"))
	e.controllerSays(e.cloudControlPlane(), succeeded)
	e.becomes(s, create, succeeded)
	e.Expect(s.Spec.Networking.Nodes).To(BeNil(), "the spec is the user's")
	e.Expect(s.Status.Networking).To(Equal(&corev1beta1.NetworkingStatus{
		Pods: []string{"2001:db8:1::/56"}, Services: []string{"2001:db8:2::/108"}, Nodes: []string{"2001:db8:3::/64"},
	}))
	cluster, inside := e.cluster(), &corev1beta1.Shoot{}
	e.get(cluster)
	e.Expect(json.Unmarshal(cluster.Spec.Shoot.Raw, inside)).To(Succeed())
	e.Expect(inside.Status.Networking).To(Equal(s.Status.Networking))
	e.Expect(inside.Spec.Networking.Nodes).To(HaveValue(Equal("2001:db8:3::/64")), "where a gardenlet's Cluster has it")

	e.stays(s)
	e.requests.reset(0)
	e.touch(infrastructure)
	e.stays(s)
	e.Expect(e.requests.All()).To(BeEmpty())
}

// The manifest of the first example, as it stands there.
func TestTheExampleOfAnInfrastructureIsStoredAsItIs(t *testing.T) {
	e := project(t)
	e.namespace(e.controlPlane, nil)
	manifest := fmt.Sprintf(`
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Infrastructure
metadata:
  name: infrastructure
  namespace: %s
spec:
  type: aws
  dns:
    apiserver: api.aws-01.core.example.com
  region: eu-west-1
  secretRef:
    name: my-aws-credentials
  sshPublicKey: |
    base64(key)
`, e.controlPlane)
	written, config := &unstructured.Unstructured{}, map[string]any{}
	e.Expect(yaml.Unmarshal([]byte(manifest), written)).To(Succeed())
	e.Expect(yaml.Unmarshal([]byte(exampleConfig), &config)).To(Succeed())
	e.Expect(unstructured.SetNestedMap(written.Object, config, "spec", "providerConfig")).To(Succeed())
	stored := written.DeepCopy()
	e.Expect(e.client.Create(t.Context(), stored)).To(Succeed())
	e.Expect(stored.Object["spec"]).To(Equal(written.Object["spec"]))
}
