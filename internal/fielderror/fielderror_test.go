// SPDX-License-Identifier: Apache-2.0

package fielderror_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trellis-network/trellis/internal/fielderror"
)

func TestTheNameThatAnAuthorMeantIsFound(t *testing.T) {
	known := []string{"apiVersion", "branches", "height", "leaves", "name", "tall", "wireguardEncryption"}
	for written, meant := range map[string]string{
		"branchs":                     "branches",
		"Branches":                    "branches",
		"brnaches":                    "branches",
		"wireguard":                   "wireguardEncryption",
		"wireguard_encryption":        "wireguardEncryption",
		"encryption":                  "wireguardEncryption",
		"nmae":                        "name",
		"hight":                       "height",
		"tal":                         "tall",
		"":                            "",
		"-":                           "",
		"x":                           "",
		"roots":                       "",
		"äöü":                         "",
		strings.Repeat("name", 1<<18): "",
	} {
		NewWithT(t).Expect(fielderror.Nearest(written, known)).To(Equal(meant), "%.40q", written)
	}
	NewWithT(t).Expect(fielderror.Nearest("name", nil)).To(BeEmpty())
}

func TestChoicesAreListedWithTheOneThatIsMeant(t *testing.T) {
	g := NewWithT(t)
	known := []string{"aws", "azure", "gcp"}
	g.Expect(fielderror.Choices(known, "Azur")).To(Equal("aws, azure, gcp; did you mean azure?"))
	g.Expect(fielderror.Choices(known, "azure", "azur", "...")).To(Equal("aws, azure, gcp; did you mean azure?"))
	g.Expect(fielderror.Choices(known, "aws", "azure")).To(Equal("aws, azure, gcp"), "either may be meant")
	g.Expect(fielderror.Choices(known)).To(Equal("aws, azure, gcp"))
}

func TestAnUnsupportedNameIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	refuse := func(name string) string {
		return fielderror.NotSupported(field.NewPath("type"), name, []string{"calico", "cilium"}).Error()
	}
	g.Expect(refuse("calcio")).To(Equal(`type: Unsupported value: "calcio": supported values: "calico", "cilium"; did you mean calico?`))
	g.Expect(refuse("Cilium")).To(HaveSuffix("did you mean cilium?"))
	g.Expect(refuse("ovn")).To(HaveSuffix(`supported values: "calico", "cilium"`))
	g.Expect(len(refuse(strings.Repeat("calico", 1<<10)))).To(BeNumerically("<", 200))
}

func TestLongValuesAreCut(t *testing.T) {
	for document, shown := range map[string]any{
		`7`:                                 json.Number("7"),
		`"text"`:                            "text",
		`{"a":[true,null]}`:                 map[string]any{"a": []any{true, nil}},
		`no JSON`:                           "no JSON",
		`"` + "\xff" + `"`:                  "\ufffd",
		`"` + strings.Repeat("ä", 64) + `"`: strings.Repeat("ä", 32) + "…",
		`{"name":["` + strings.Repeat("x", 64) + `"]}`: "{name:[" + strings.Repeat("x", 54) + "…",
	} {
		NewWithT(t).Expect(fielderror.AbbreviateJSON(json.RawMessage(document))).To(Equal(shown), document)
	}
}
