// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
			response := handler{controlplane.Cloud{Config: "[Global]\n"}}.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(test.allowed))
			g.Expect(len(response.Patches) > 0).To(Equal(test.adapted))
			if response.Result != nil {
				g.Expect(response.Result.Message).To(ContainSubstring(test.says))
			}
			g.Expect(append(response.Warnings, "")[0]).To(Equal(test.warning))
		})
	}
}

// The API server may have fields that this program does not know.
func TestUnknownFieldsOfDeploymentsStay(t *testing.T) {
	g := NewWithT(t)
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte(manager)}}}
	response := handler{controlplane.Cloud{}}.Handle(t.Context(), request)
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
