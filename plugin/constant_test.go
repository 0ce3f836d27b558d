// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func role() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "reader", Labels: map[string]string{"a": "1"}, Annotations: map[string]string{"b": "2"}, Finalizers: []string{"c"},
		},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}
}

func written(t *testing.T, object Object) string {
	t.Helper()
	raw, err := AppendJSON(nil, object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func TestConstantsAreWhatTheyWereMadeOf(t *testing.T) {
	g := NewWithT(t)
	source := role()
	constant := NewConstant(source)
	g.Expect(written(t, constant)).To(Equal(written(t, source)))
	g.Expect(json.Marshal(constant)).To(MatchJSON(written(t, source)))
	g.Expect(constant.GetObjectKind().GroupVersionKind()).To(Equal(source.GroupVersionKind()))
	for name, method := range reflect.ValueOf(constant).Methods() {
		if !strings.HasPrefix(name.Name, "Get") || name.Name == "GetObjectKind" {
			continue
		}
		want := reflect.ValueOf(source).MethodByName(name.Name).Call(nil)[0].Interface()
		g.Expect(method.Call(nil)[0].Interface()).To(Equal(want), name.Name)
	}
}

// All goroutines share a Constant, so neither its source nor what its methods return leads into it.
func TestAConstantCannotBeChanged(t *testing.T) {
	g := NewWithT(t)
	source := role()
	constant := NewConstant(source)
	want := written(t, constant)

	source.Rules[0].Verbs[0] = "delete"
	source.Labels["a"] = "changed"
	constant.GetLabels()["a"] = "changed"
	constant.GetAnnotations()["b"] = "changed"
	constant.GetFinalizers()[0] = "changed"
	constant.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	raw, _ := constant.MarshalJSON()
	raw[0] = 'x'
	constant.DeepCopyObject().(*rbacv1.ClusterRole).Rules[0].Verbs[0] = "delete"

	g.Expect(written(t, constant)).To(Equal(want))
	g.Expect(written(t, constant.DeepCopyObject().(Object))).To(Equal(want))
	g.Expect(constant.GetLabels()).To(HaveKeyWithValue("a", "1"))
	for method, value := range reflect.ValueOf(constant).Methods() {
		if strings.HasPrefix(method.Name, "Set") {
			argument := reflect.Zero(value.Type().In(0))
			g.Expect(func() { value.Call([]reflect.Value{argument}) }).To(PanicWith(ContainSubstring("ClusterRole reader is a plugin.Constant")), method.Name)
		}
	}
}

// plain is an object whose type is not made as those of Kubernetes are.
type plain struct {
	corev1.ConfigMap
	Status string `json:"status"`
	Size   int
}

func (p *plain) DeepCopyObject() runtime.Object { return &plain{*p.DeepCopy(), p.Status, p.Size} }

func TestDocumentsOfObjectsHaveNoStatus(t *testing.T) {
	daemons := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: "agents"},
	}
	daemons.Status.NumberReady = 3
	for name, test := range map[string]struct {
		object Object
		want   string
	}{
		"typed": {daemons, `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"agents"},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}}}`},
		"unstructured": {&unstructured.Unstructured{Object: map[string]any{
			"kind": "Any", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}, "status": "fine", "spec": map[string]any{"status": "kept"},
		}}, `{"apiVersion":"v1","kind":"Any","metadata":{"name":"a"},"spec":{"status":"kept"}}`},
		"with fields beside the spec": {&corev1.ConfigMap{
			TypeMeta:  metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			Immutable: new(bool), Data: map[string]string{"a": `,"status":`},
		}, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"immutable":false,"data":{"a":",\"status\":"}}`},
		"made in another way": {&plain{ConfigMap: corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Plain"}}, Status: "fine", Size: 1},
			`{"Size":1,"apiVersion":"v1","kind":"Plain","metadata":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(written(t, test.object)).To(Equal(test.want))
			g.Expect(written(t, NewConstant(test.object))).To(Equal(test.want))
		})
	}
}

// An encoding that leaves the status out is otherwise that of the JSON encoder.
func TestDocumentsSayAllThatObjectsSay(t *testing.T) {
	g := NewWithT(t)
	want, err := json.Marshal(role())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(written(t, role())).To(MatchJSON(want))
}

func TestObjectsThatCannotBeEncodedAreNamed(t *testing.T) {
	g := NewWithT(t)
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Any", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}, "spec": make(chan int)}}
	_, err := AppendJSON(nil, object)
	g.Expect(err).To(MatchError(ContainSubstring("encode Any a: json: unsupported type")))
	var none *corev1.ConfigMap
	_, err = AppendJSON(nil, none)
	g.Expect(err).To(MatchError(ContainSubstring("is no Kubernetes object")))
}

func TestKubernetesTypesTakeTheShortWay(t *testing.T) {
	g := NewWithT(t)
	for _, object := range []Object{&appsv1.DaemonSet{}, &appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Service{}, &rbacv1.ClusterRole{}, &apiextensionsv1.CustomResourceDefinition{}} {
		g.Expect(fieldsOf(reflect.TypeOf(object))).NotTo(BeEmpty(), "%T", object)
	}
}
