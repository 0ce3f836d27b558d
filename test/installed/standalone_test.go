// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/plugins"
	"github.com/trellis-network/trellis/test/harness"
	"github.com/trellis-network/trellis/test/install"
)

// monitoringKinds are the kinds of bundles for the seed, beside ConfigMaps.
var monitoringKinds = []struct{ version, kind, plural string }{
	{"v1alpha1", "ScrapeConfig", "scrapeconfigs"}, {"v1", "PrometheusRule", "prometheusrules"},
}

const monitoringGroup = "monitoring.coreos.com"

// withPrometheus installs the kinds of the Prometheus operator.
func (o *installed) withPrometheus() {
	o.t.Helper()
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: new(true),
	}}
	for _, each := range monitoringKinds {
		o.create(&apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: each.plural + "." + monitoringGroup},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: monitoringGroup, Scope: apiextensionsv1.NamespaceScoped,
				Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: each.plural, Kind: each.kind},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: each.version, Served: true, Storage: true, Schema: anything}},
			},
		})
	}
	o.Expect(install.CRDs(o.t.Context(), o.seed)).To(Succeed(), "waits for all of them")
}

// Standalone, the operator has exactly the rights that it uses.
func TestRightsOfAStandaloneOperator(t *testing.T) {
	const own = "trellis-system"
	seed := landscape.Seed(t)
	o := newInstalled(t, seed, own, "mode: standalone", plugins.All())
	o.withPrometheus()
	o.start()
	shoot := shootOf("first", "cilium")
	o.create(shoot)
	o.succeeds(shoot)
	o.editsInSeed("shoot--dev--first")
	for _, debug := range []bool{true, false} { // the same events twice
		harness.Change(t, seed, shoot, func(s *corev1beta1.Shoot) {
			s.Spec.Networking.ProviderConfig = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"debug":%t}`, debug)}
		})
		o.succeeds(shoot)
	}
	o.stop()
	abandoned := o.abandoned()
	certificates := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "trellis-webhooks"}}
	harness.Change(t, seed, certificates, func(s *corev1.Secret) { s.Data["tls.crt"] = []byte("unusable") })
	controlPlane := namespaceNamed("shoot--dev--first")
	harness.Change(t, seed, controlPlane, func(n *corev1.Namespace) { n.Labels = nil })
	o.start()
	o.Eventually(func() map[string]string { seed.Read(t, controlPlane); return controlPlane.Labels }).Should(HaveKey("gardener.cloud/role"))
	for _, configuration := range abandoned {
		o.isGone(configuration)
	}
	o.succeeds(shoot)
	before := controlPlane.UID
	o.Expect(seed.Delete(t.Context(), controlPlane)).To(Succeed())
	o.Eventually(func() types.UID {
		now := namespaceNamed(controlPlane.Name)
		_ = seed.Get(t.Context(), client.ObjectKeyFromObject(now), now)
		return now.UID
	}).ShouldNot(Or(BeEmpty(), Equal(before)))
	o.succeeds(shoot)
	o.delete(shoot)
	o.isGone(controlPlane)
	o.stop()
	o.hasExactlyItsRights(nil)
}

// editsInSeed changes what the bundle for the seed has in a control plane, and waits until the
// operator has reverted that.
func (o *installed) editsInSeed(controlPlane string) {
	o.t.Helper()
	lists := []client.ObjectList{&corev1.ConfigMapList{}}
	for _, each := range monitoringKinds {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(monitoringGroup + "/" + each.version)
		list.SetKind(each.kind + "List")
		lists = append(lists, list)
	}
	for _, list := range lists {
		managed := client.MatchingLabels{"resources.gardener.cloud/managed-by": "gardener"}
		var object client.Object
		o.Eventually(func() error {
			if err := o.seed.List(o.t.Context(), list, client.InNamespace(controlPlane), managed); err != nil {
				return err
			}
			switch list := list.(type) {
			case *corev1.ConfigMapList:
				if len(list.Items) > 0 {
					object = &list.Items[0]
					return nil
				}
			case *unstructured.UnstructuredList:
				if len(list.Items) > 0 {
					object = &list.Items[0]
					return nil
				}
			}
			return fmt.Errorf("no %T in %s", list, controlPlane)
		}).Should(Succeed())
		labels := object.GetLabels()
		o.Expect(labels).NotTo(BeEmpty())
		o.Expect(o.seed.Patch(o.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`)))).To(Succeed())
		o.Eventually(func() map[string]string {
			o.seed.Read(o.t, object)
			return object.GetLabels()
		}).Should(Equal(labels))
	}
}
