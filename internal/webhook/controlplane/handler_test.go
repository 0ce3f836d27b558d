// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/internal/controlplane"
)

const manager = `{
	"metadata": {"name": "kube-controller-manager"},
	"future": {"of": "a newer API server"},
	"spec": {"selector": {}, "strategy": {}, "template": {"spec": {"containers": [
		{"name": "kube-controller-manager", "command": ["kcm", "--v=2"], "future": 1}
	]}}}
}`

func TestDeploymentsAreAdapted(t *testing.T) {
	change := func(patch string) string {
		changed, err := jsonpatch.MergePatch([]byte(manager), []byte(patch))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return string(changed)
	}
	for name, test := range map[string]struct {
		object        string
		allowed       bool
		adapted       bool
		says, warning string
	}{
		"a kube-controller-manager": {manager, true, true, "", ""},
		"another Deployment":        {change(`{"metadata":{"name":"another"}}`), true, false, "", ""},
		"one that is being deleted": {change(`{"metadata":{"deletionTimestamp":"2026-11-23T12:00:00Z"}}`), true, false, "", ""},
		"one without its container": {change(`{"spec":{"template":{"spec":{"containers":[{"name":"another"}]}}}}`), true, false, "",
			"The Deployment is not adapted to its infrastructure: it has no container kube-controller-manager"},
		"what is no Deployment": {`{"spec":7}`, false, false, "the Deployment cannot be decoded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(test.object)}}}
			response := handler{cloud: controlplane.Cloud{Config: "[Global]\n"}}.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(test.allowed))
			g.Expect(len(response.Patches) > 0).To(Equal(test.adapted))
			if response.Result != nil {
				g.Expect(response.Result.Message).To(ContainSubstring(test.says))
			}
			g.Expect(append(response.Warnings, "")[0]).To(Equal(test.warning))
		})
	}
}

// configs has the ConfigMap of one namespace.
type configs struct {
	client.Reader
	namespace, content string
}

func (c configs) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Namespace != c.namespace {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	object.(*corev1.ConfigMap).Data = map[string]string{"cloudprovider.conf": c.content}
	return nil
}

// A kube-controller-manager would not start without a cloud config that its Infrastructure decides.
func TestNoDeploymentComesBeforeItsCloudConfig(t *testing.T) {
	for name, test := range map[string]struct{ namespace, content, says string }{
		"none":     {"another", "VPC=vpc-1\n", `configmaps "cloud-provider-config" not found`},
		"empty":    {"one", "", "the ConfigMap one/cloud-provider-config has no cloudprovider.conf yet"},
		"complete": {"one", "VPC=vpc-1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Namespace: "one", Object: runtime.RawExtension{Raw: []byte(manager)}}}
			cloud := controlplane.Cloud{Template: "VPC={.status.providerStatus.vpc.id}"}
			response := handler{cloud, configs{namespace: test.namespace, content: test.content}}.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(test.says == ""))
			if test.says != "" {
				g.Expect(response.Result.Message).To(ContainSubstring(test.says))
				return
			}
			patches, err := json.Marshal(response.Patches)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(patches)).To(ContainSubstring(controlplane.Cloud{Config: test.content}.Checksum()))
		})
	}
}

// The API server may have fields that this program does not know.
func TestUnknownFieldsOfDeploymentsStay(t *testing.T) {
	g := NewWithT(t)
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(manager)}}}
	response := handler{}.Handle(t.Context(), request)
	operations, err := json.Marshal(response.Patches)
	g.Expect(err).NotTo(HaveOccurred())
	patch, err := jsonpatch.DecodePatch(operations)
	g.Expect(err).NotTo(HaveOccurred())
	after, err := patch.Apply([]byte(manager))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(MatchJSON(`{
		"metadata": {"name": "kube-controller-manager"},
		"future": {"of": "a newer API server"},
		"spec": {"selector": {}, "strategy": {}, "template": {"spec": {"containers": [
			{"name": "kube-controller-manager", "command": ["kcm", "--v=2", "--cloud-provider=external"], "future": 1}
		]}}}
	}`))
}
