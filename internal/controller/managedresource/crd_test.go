// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trellis-network/trellis/test/contract"
)

// widgets returns a CRD and a custom resource of it, in a group for one test.
func (e *env) widgets(group string) (*apiextensionsv1.CustomResourceDefinition, *unstructured.Unstructured) {
	group += ".example.com"
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"}, "spec": map[string]any{"size": int64(1)},
	}}
	return crd, widget
}

// The operator creates a CRD together with a custom resource of it, and recreates both.
func TestDefinitionAndCustomResource(t *testing.T) {
	contract.Shows(t, "R27")
	e := newEnv(t)
	crd, widget := e.widgets("together")
	e.state("network", widget, crd)
	e.operator()
	e.becomesGood("network")
	e.Expect(live(e, widget).GetLabels()).To(HaveKey("injected"))
	for _, ref := range e.get("network").Status.Resources {
		e.Expect(ref.Namespace).To(BeEmpty(), "cluster-scoped, which the operator could not know at first")
	}

	uid := live(e, crd).UID
	e.Expect(e.shoot.Delete(e.ctx, live(e, crd))).To(Succeed())
	e.Eventually(func() types.UID {
		now := &apiextensionsv1.CustomResourceDefinition{}
		_ = e.shoot.Get(e.ctx, client.ObjectKeyFromObject(crd), now) // it is gone for a moment
		return now.UID
	}).ShouldNot(Or(BeEmpty(), Equal(uid)))
	e.Eventually(e.exists(widget)).Should(BeTrue())
	e.becomesGood("network")

	change(e, widget, func(w *unstructured.Unstructured) {
		w.Object["spec"] = map[string]any{"size": int64(2), "colour": "red"}
	})
	e.Eventually(func() any { return live(e, widget).Object["spec"] }).Should(Equal(widget.Object["spec"]))
}

// The condition names a custom resource without CRD. The operator applies it as soon as
// the CRD exists.
func TestCustomResourceWithoutDefinition(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("alone")
	e.state("network", widget)
	e.operator()
	e.Eventually(e.message("network", "ResourcesApplied")).Should(And(
		HavePrefix(`error during apply of object "alone.example.com/v1/Widget/`),
		HaveSuffix("the shoot does not know the kind Widget of alone.example.com/v1")))
	e.Expect(e.shoot.Create(e.ctx, crd)).To(Succeed())
	e.becomesGood("network")
	e.Expect(e.shoot.Delete(e.ctx, crd)).To(Succeed())
}

// The user need not wait until the API server lists a kind whose CRD is new, for which it takes
// a second: its objects are applied. Whether they are healthy is told afterwards.
func TestAppliedBeforeANewKindIsListed(t *testing.T) {
	e := newEnv(t)
	crd, widget := e.widgets("unlisted-" + e.namespace)
	listed := make(chan struct{})
	e.audit.shoot.BeforeWatches(func(request *http.Request) error {
		if strings.HasSuffix(request.URL.Path, "/widgets") {
			select {
			case <-listed:
			case <-request.Context().Done():
			}
		}
		return nil
	})
	e.state("network", widget, crd)
	e.operator()
	e.Eventually(e.conditions("network")).Should(And(
		HaveKeyWithValue("ResourcesApplied", good["ResourcesApplied"]),
		Not(HaveKeyWithValue("ResourcesHealthy", Or(Equal(good["ResourcesHealthy"]), ContainSubstring(reasonHealthCheckError))))))
	close(listed)
	e.becomesGood("network")
}
