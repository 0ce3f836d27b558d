// SPDX-License-Identifier: Apache-2.0

package shootadmission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/pipeline"
	"github.com/trellis-network/trellis/plugin"
)

// Plugins may find any number of errors in what users write, and quote it.
func TestAnswersAreBounded(t *testing.T) {
	g := NewWithT(t)
	review := &pipeline.Review{}
	for i := range 500 {
		path := field.NewPath("spec").Index(i)
		review.Errors = append(review.Errors, field.Invalid(path, strings.Repeat("ä", 10_000), "must be short"))
		review.Warnings = append(review.Warnings, plugin.Warning{Field: path.String(), Message: strings.Repeat("ö", 5_000)})
	}
	response := answer("mine", review)
	g.Expect(response.Allowed).To(BeFalse())
	causes := response.Result.Details.Causes
	g.Expect(causes).To(HaveLen(maxCauses + 1))
	g.Expect(causes[maxCauses].Message).To(Equal("has 450 more errors"))
	g.Expect(response.Warnings).To(HaveLen(4))
	g.Expect(response.Warnings[3]).To(Equal("and 497 more warnings; trellis validate --old shows them"))
	for _, text := range append([]string{response.Result.Message, causes[0].Message}, response.Warnings...) {
		g.Expect(utf8.ValidString(text)).To(BeTrue())
	}
	raw, err := json.Marshal(response.AdmissionResponse)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 128<<10))
}

func TestAShortAnswerIsWhole(t *testing.T) {
	g := NewWithT(t)
	response := answer("mine", &pipeline.Review{Errors: field.ErrorList{
		field.Required(field.NewPath("spec", "a"), ""), field.Invalid(field.NewPath("spec", "b"), 7, "is odd")}})
	g.Expect(response.Result.Message).To(Equal(`Shoot.core.gardener.cloud "mine" is invalid: [spec.a: Required value, spec.b: Invalid value: 7: is odd]`))
	g.Expect(fmt.Sprint(response.Result.Details.Causes[1])).To(Equal("{FieldValueInvalid Invalid value: 7: is odd spec.b}"))
	g.Expect(response.Result.Code).To(BeEquivalentTo(422))
	g.Expect(answer("mine", &pipeline.Review{}).Allowed).To(BeTrue())
}
