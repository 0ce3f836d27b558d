// SPDX-License-Identifier: Apache-2.0

package shootadmission

import (
	"fmt"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	corev1beta1 "github.com/trellis-network/trellis/api/core/v1beta1"
	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// How large an answer is. An API server shortens the warnings of a request, with those of others,
// once they have more than 4096 characters.
const (
	maxCauses   = 50
	maxText     = 1024 // bytes of one cause or warning
	maxWarnings = 3072 // bytes of all warnings
)

// answer is Invalid with one cause for each error, as for an object that an API server itself
// refuses. So clients show it in the same way.
func answer(name string, review *pipeline.Review) admission.Response {
	warnings := warningsOf(review.Warnings)
	errs := review.Errors
	if len(errs) == 0 {
		return admission.Allowed("").WithWarnings(warnings...)
	}
	more := len(errs) - maxCauses
	if more > 0 {
		errs = errs[:maxCauses]
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: corev1beta1.GroupVersion.Group, Kind: "Shoot"}, name, errs).ErrStatus
	for i := range status.Details.Causes {
		status.Details.Causes[i].Message = shortened(status.Details.Causes[i].Message, maxText)
	}
	if more > 0 {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "spec", Message: fmt.Sprintf("has %d more errors", more),
		})
	}
	status.Message = shortened(status.Message, maxCauses*maxText)
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status, Warnings: warnings}}
}

// warningsOf returns warnings for an API server, the first ones if there are too many.
func warningsOf(all []plugin.Warning) []string {
	var shown []string
	left := maxWarnings
	for i, warning := range all {
		text := shortened(warning.String(), maxText)
		if left -= len(text); left < 0 {
			return append(shown, fmt.Sprintf("and %d more warnings; trellis validate --old shows them", len(all)-i))
		}
		shown = append(shown, text)
	}
	return shown
}

// shortened returns the beginning of a text that has more than so many bytes.
func shortened(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
