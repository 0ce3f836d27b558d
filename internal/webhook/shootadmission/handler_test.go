// SPDX-License-Identifier: Apache-2.0

package shootadmission

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
	"github.com/trellis-network/trellis/plugins/flannel"
)

// What an API server does not send, another client may.
func TestRequestsThatNoAPIServerSends(t *testing.T) {
	p, err := pipeline.New([]plugin.Plugin{flannel.New()}, nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	r := &reviewer{pipeline: p}
	const wrong = `{"spec":{"networking":{"type":"flannel","providerConfig":{"unknown":1}},"provider":{"workers":[{}]}}}`
	for name, test := range map[string]struct {
		operation   admissionv1.Operation
		object, old string
		validates   bool
		says        string
	}{
		"no object":                {admissionv1.Create, "", "", false, "has no object"},
		"no JSON":                  {admissionv1.Create, "{", "", false, "cannot be decoded"},
		"another type in a field":  {admissionv1.Create, `{"spec":{"networking":[]}}`, "", false, "cannot be decoded"},
		"nothing in it":            {admissionv1.Create, `{}`, "", true, ""},
		"null":                     {admissionv1.Create, `null`, "", true, ""},
		"a deletion":               {admissionv1.Delete, "", "", true, ""},
		"an update without before": {admissionv1.Update, wrong, "", false, "unknown"},
		"an update of nonsense":    {admissionv1.Update, wrong, `{"spec":7}`, false, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: test.operation, Object: runtime.RawExtension{Raw: []byte(test.object)}, OldObject: runtime.RawExtension{Raw: []byte(test.old)},
			}}
			response := r.validate(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(test.validates))
			g.Expect(response.Result.Message).To(ContainSubstring(test.says))
			g.Expect(r.mutate(t.Context(), request).Allowed).To(BeTrue(), "the API server itself refuses what is malformed")
		})
	}
}
