// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	resourcesv1alpha1 "github.com/trellis-network/trellis/api/resources/v1alpha1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/pipeline/probe"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/providers"
)

// extensionNetwork is a network that Gardener's extension for its type has made. Its objects are
// Trellis' own, changed where the extension's are known to differ: see shape. That nothing else
// differs in the pod templates is tested beside each plugin.
type extensionNetwork struct {
	networkType, config string
	// shoot changes a plain Shoot.
	shoot func(*corev1beta1.Shoot)
	// scripts are the containers whose scripts differ.
	scripts []string
	// restarts are the workloads that have these containers.
	restarts []string
	// again has the network taken over a second time.
	again bool

	result pipeline.Result
}

// build has the objects built for a control plane, and has the gardenlet know the spec.
func (e *extensionNetwork) build(p *controlPlane) {
	p.t.Helper()
	raw := json.RawMessage(p.document(e.config))
	p.cluster(func(s *corev1beta1.Shoot) {
		s.Status.TechnicalID = p.namespace
		s.Status.AdvertisedAddresses = []corev1beta1.AdvertisedAddress{{Name: "external", URL: "https://api.example.com"}}
		s.Status.Networking = &corev1beta1.NetworkingStatus{Pods: []string{"100.64.0.0/12"}, Services: []string{"100.96.0.0/13"}}
		s.Spec.Provider = corev1beta1.Provider{Type: "aws", Workers: []corev1beta1.Worker{{Name: "worker", Minimum: 2, Maximum: 4}}}
		s.Spec.Kubernetes.Version = "1.35.1"
		s.Spec.Networking = &corev1beta1.Networking{
			Type: &e.networkType, Pods: ptr.To("100.64.0.0/12"), Services: ptr.To("100.96.0.0/13"), Nodes: ptr.To("10.250.0.0/16"),
			IPFamilies: []string{"IPv4"}, ProviderConfig: &runtime.RawExtension{Raw: raw},
		}
		if e.shoot != nil {
			e.shoot(s)
		}
		derived, err := pipeline.NetworkForShoot(s)
		p.Expect(err).NotTo(HaveOccurred())
		spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&derived.Spec)
		p.Expect(err).NotTo(HaveOccurred())
		p.gardenlet.Spec = spec
		built, err := pipeline.New(plugins.All(), providers.All())
		p.Expect(err).NotTo(HaveOccurred())
		derived.Name, derived.Namespace = p.gardenlet.Name.Name, p.namespace
		e.result = built.Build(built.NewRequest(derived, s, plugin.Environment{}))
		p.Expect(e.result.Errors).To(BeEmpty())
	})
}

// document is YAML as JSON.
func (p *controlPlane) document(text string) []byte {
	raw, err := yaml.YAMLToJSON([]byte(text))
	p.Expect(err).NotTo(HaveOccurred())
	return raw
}

// name is that of the ManagedResource of the network itself.
func (e *extensionNetwork) name() string {
	return "extension-networking-" + e.networkType + "-config"
}

// inShoot are the objects in the shoot as the extension writes them, all in one Secret.
func (e *extensionNetwork) inShoot(p *controlPlane) []*unstructured.Unstructured {
	p.t.Helper()
	var shaped []*unstructured.Unstructured
	for _, bundle := range e.result.Objects.Bundles {
		if bundle.Target != plugin.Shoot || bundle.Phase == plugin.AdmissionPhase || bundle.Name == probe.BundleName {
			continue
		}
		for _, object := range bundle.Objects {
			document, err := pipeline.Document(object)
			p.Expect(err).NotTo(HaveOccurred())
			one := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(document)}
			e.shape(one)
			shaped = append(shaped, one)
		}
	}
	return shaped
}

// shape makes an object of Trellis what the extension's is: scripts, checksums and the spelling of
// JSON are another author's; two agents are replaced at a time; nothing is Trellis' own.
func (e *extensionNetwork) shape(object *unstructured.Unstructured) {
	annotations := object.GetAnnotations()
	for name := range annotations {
		if strings.HasPrefix(name, "trellis.network/") {
			delete(annotations, name)
		}
	}
	object.SetAnnotations(annotations)
	if data, has, _ := unstructured.NestedStringMap(object.Object, "data"); has && object.GetKind() == "ConfigMap" && !isImmutable(object) {
		for key, value := range data {
			indented := &bytes.Buffer{}
			if strings.HasPrefix(value, "{") && json.Indent(indented, []byte(value), "", "  ") == nil {
				data[key] = indented.String()
			}
		}
		_ = unstructured.SetNestedStringMap(object.Object, data, "data")
	}
	if object.GetKind() == "DaemonSet" {
		_ = unstructured.SetNestedField(object.Object, int64(2), "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	}
	template, has, _ := unstructured.NestedMap(object.Object, "spec", "template")
	if !has {
		return
	}
	sums, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	for name := range sums {
		if strings.HasPrefix(name, "checksum/") {
			sum := sha256.Sum256([]byte("another author's " + name))
			sums[name] = hex.EncodeToString(sum[:])
			_ = unstructured.SetNestedStringMap(template, sums, "metadata", "annotations")
		}
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedSlice(template, "spec", list)
		for _, container := range containers {
			if one := container.(map[string]any); slices.Contains(e.scripts, one["name"].(string)) {
				one["command"] = []any{"/bin/sh", "-c", "# another author's script"}
				delete(one, "args")
			}
		}
		if len(containers) > 0 {
			_ = unstructured.SetNestedSlice(template, containers, "spec", list)
		}
	}
	_ = unstructured.SetNestedMap(object.Object, template, "spec", "template")
}

// reconcile does what the extension does when a gardenlet asks for the Network: it writes the
// Secret and the ManagedResource, applies monitoring in the seed with its own client, and reports
// success at once.
func (e *extensionNetwork) reconcile(p *controlPlane) {
	p.t.Helper()
	var documents []byte
	for _, object := range e.inShoot(p) {
		document, err := yaml.Marshal(object.Object)
		p.Expect(err).NotTo(HaveOccurred())
		documents = append(append(documents, "---\n"...), document...)
	}
	sum := sha256.Sum256(documents)
	p.putManaged(e.name(), "managedresource-"+e.name()+"-"+hex.EncodeToString(sum[:4]), "config.yaml", documents,
		map[string]string{"origin": "extension-networking-" + e.networkType}, map[string]string{"shoot.gardener.cloud/no-cleanup": "true"})
	if e.networkType == "cilium" {
		p.putManaged("extension-cilium-shoot-webhooks", "extension-cilium-shoot-webhooks", "mutatingwebhookconfiguration.yaml",
			[]byte("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: gardener-extension-networking-cilium-shoot}\n"), nil, nil)
	}
	for _, object := range e.inSeed(p) {
		p.Expect(p.seed.client.Apply(p.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gardener-extension"), client.ForceOwnership)).To(Succeed())
	}
	n := p.now()
	before := n.DeepCopy()
	n.Finalizers = []string{"extensions.gardener.cloud/network"}
	delete(n.Annotations, operationAnnotation)
	p.Expect(p.seed.client.Patch(p.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	before = n.DeepCopy()
	n.Status.ObservedGeneration = n.Generation
	n.Status.LastOperation = &corev1beta1.LastOperation{
		Type: "Reconcile", State: corev1beta1.LastOperationStateSucceeded, Progress: 100,
		Description: "Successfully reconciled Network", LastUpdateTime: metav1.NewTime(p.clock.Now()),
	}
	n.Status.LastError = nil
	n.Status.IPFamilies = e.result.IPFamilies
	n.Status.ProviderStatus = &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"` + e.networkType + `.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkStatus"}`),
	}
	p.Expect(p.seed.client.Status().Patch(p.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	p.applied(e.name())
}

// inSeed are the objects in the seed.
func (e *extensionNetwork) inSeed(p *controlPlane) []*unstructured.Unstructured {
	p.t.Helper()
	var all []*unstructured.Unstructured
	for _, object := range e.result.Objects.For(plugin.Seed) {
		document, err := pipeline.Document(object)
		p.Expect(err).NotTo(HaveOccurred())
		all = append(all, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(document)})
	}
	return all
}

// delete does what the extension does when a gardenlet deletes the Network.
func (e *extensionNetwork) delete(p *controlPlane) {
	p.t.Helper()
	for _, object := range e.inSeed(p) {
		p.Expect(client.IgnoreNotFound(p.seed.client.Delete(p.t.Context(), object))).To(Succeed())
	}
	for _, name := range []string{"extension-cilium-shoot-webhooks", e.name()} {
		mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
		p.Expect(client.IgnoreNotFound(p.seed.client.Delete(p.t.Context(), mr))).To(Succeed())
		p.Eventually(func() bool { return p.isGone(p.seed.client, mr) }).WithTimeout(patience).Should(BeTrue(), name)
	}
	n := p.now()
	before := n.DeepCopy()
	n.Finalizers = nil
	p.Expect(p.seed.client.Patch(p.t.Context(), n, client.MergeFrom(before))).To(Succeed())
	p.Expect(p.gardenlet.Delete(p.t.Context())).To(Succeed())
}

// putManaged writes a Secret and a ManagedResource with it, or changes them.
func (p *controlPlane) putManaged(name, secretName, key string, content []byte, labels, injected map[string]string) {
	p.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: secretName}, Data: map[string][]byte{key: content}}
	p.Expect(client.IgnoreAlreadyExists(p.seed.client.Create(p.t.Context(), secret))).To(Succeed())
	mr := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	err := p.seed.client.Get(p.t.Context(), client.ObjectKeyFromObject(mr), mr)
	p.Expect(client.IgnoreNotFound(err)).To(Succeed())
	before := mr.DeepCopy()
	for label, value := range labels {
		if mr.Labels == nil {
			mr.Labels = map[string]string{}
		}
		mr.Labels[label] = value
	}
	mr.Spec = resourcesv1alpha1.ManagedResourceSpec{
		SecretRefs: []corev1.LocalObjectReference{{Name: secretName}}, InjectLabels: injected, KeepObjects: ptr.To(false),
	}
	if err != nil {
		p.Expect(p.seed.client.Create(p.t.Context(), mr)).To(Succeed())
		return
	}
	p.Expect(p.seed.client.Patch(p.t.Context(), mr, client.MergeFrom(before))).To(Succeed())
}

// applied waits until a ManagedResource is applied as it is.
func (p *controlPlane) applied(name string) {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		mr := &resourcesv1alpha1.ManagedResource{}
		g.Expect(p.seed.client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, mr)).To(Succeed())
		g.Expect(mr.Status.ObservedGeneration).To(Equal(mr.Generation))
		g.Expect(mr.Status.Conditions).To(ContainElement(And(
			HaveField("Type", "ResourcesApplied"), HaveField("Status", corev1beta1.ConditionTrue))), "%v", mr.Status.Conditions)
	}).WithTimeout(patience).Should(Succeed())
}

// kinds makes kinds that a cluster has of others, without schemas. Each is written as group,
// version, kind, plural and scope.
func (p *controlPlane) kinds(c client.Client, list ...string) {
	p.t.Helper()
	for _, each := range list {
		parts := strings.Split(each, "/")
		definition := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{
				Name:        parts[3] + "." + parts[0],
				Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for tests"},
			},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: parts[0], Scope: apiextensionsv1.ResourceScope(parts[4]),
				Names: apiextensionsv1.CustomResourceDefinitionNames{
					Kind: parts[2], ListKind: parts[2] + "List", Plural: parts[3], Singular: strings.ToLower(parts[2]),
				},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: parts[1], Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: ptr.To(true),
					}},
				}},
			},
		}
		p.Expect(client.IgnoreAlreadyExists(c.Create(p.t.Context(), definition))).To(Succeed())
		p.Eventually(func(g Gomega) {
			g.Expect(c.Get(p.t.Context(), client.ObjectKeyFromObject(definition), definition)).To(Succeed())
			g.Expect(definition.Status.Conditions).To(ContainElement(And(
				HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))))
		}).WithTimeout(patience).Should(Succeed())
	}
}
