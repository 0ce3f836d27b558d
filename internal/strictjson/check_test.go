// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/trellis-network/trellis/internal/strictjson"
)

// tree has a field of each sort that configs have.
type tree struct {
	metav1.TypeMeta `json:",inline"`
	Name            string              `json:"name"`
	Tall            *bool               `json:"tall,omitempty"`
	Age             int32               `json:"age"`
	Leaves          uint64              `json:"leaves"`
	Height          float32             `json:"height"`
	Branches        []branch            `json:"branches,omitempty"`
	Sap             corev1.ResourceList `json:"sap,omitempty"`
	Birds           map[string]int8     `json:"birds,omitempty"`
	Rings           []byte              `json:"rings,omitempty"`
	Port            intstr.IntOrString  `json:"port"`
	Planted         metav1.Time         `json:"planted"`
	Legend          any                 `json:"legend"`
	Untagged        string
	Secret          string `json:"-"`
}

type branch struct {
	Sound bool     `json:"sound"`
	Twigs []branch `json:"twigs,omitempty"`
}

func check(document string) []string {
	var lines []string
	for _, err := range strictjson.Check(field.NewPath("tree"), []byte(document), reflect.TypeFor[tree](), strictjson.RefuseUnknown) {
		lines = append(lines, err.Error())
	}
	return lines
}

func TestWhatDoesNotFitIsToldWithPathValueAndWhatIsAllowed(t *testing.T) {
	for document, wants := range map[string]string{
		`{"name":"oak","tall":true,"branches":[{"twigs":[{}]}],"sap":{"cpu":"1"},"legend":{"any":["thing"]}}`: "",
		`{"name":null,"branches":null,"sap":null,"age":null}`:                                                 "",
		`7`:               `tree: Invalid value: 7: must be an object, not a number`,
		`{"name":7}`:      `tree.name: Invalid value: 7: must be a string, not a number; write it in quotes`,
		`{"name":false}`:  `tree.name: Invalid value: false: must be a string, not true or false; write it in quotes`,
		`{"name":["a"]}`:  `tree.name: Invalid value: ["a"]: must be a string, not a list`,
		`{"tall":"yes"}`:  `tree.tall: Invalid value: "yes": must be true or false, not a string`,
		`{"age":"old"}`:   `tree.age: Invalid value: "old": must be a whole number from -2147483648 to 2147483647, not a string`,
		`{"age":1.5}`:     `tree.age: Invalid value: 1.5: must be a whole number from -2147483648 to 2147483647`,
		`{"leaves":-1}`:   `tree.leaves: Invalid value: -1: must be a whole number from 0 to 18446744073709551615`,
		`{"height":"x"}`:  `tree.height: Invalid value: "x": must be a number, not a string`,
		`{"branches":{}}`: `tree.branches: Invalid value: {}: must be a list, not an object`,
		`{"branches":[{},{"twigs":[{"sound":1}]}]}`: `tree.branches[1].twigs[0].sound: Invalid value: 1: must be true or false, not a number`,
		`{"sap":{"cpu":"abc"}}`:                     `tree.sap.cpu: Invalid value: "abc": is not a Quantity: quantities must match the regular expression`,
		`{"sap":{"example.com/sun":[]}}`:            `tree.sap[example.com/sun]: Invalid value: []: is not a Quantity`,
		`{"birds":{"owl":128}}`:                     `tree.birds.owl: Invalid value: 128: must be a whole number from -128 to 127`,
		`{"rings":"?"}`:                             `tree.rings: Invalid value: "?": must be a string in base64`,
		`{"planted":"once"}`:                        `tree.planted: Invalid value: "once": is not a Time`,
		`{"port":{}}`:                               `tree.port: Invalid value: {}: is not a IntOrString`,
		`{"nmae":{"a":[1]}}`:                        `tree.nmae: Invalid value: {"a":[1]}: is not a field here; did you mean name? There are Untagged, age, apiVersion, birds, branches`,
		`{"roots":1}`:                               `tree.roots: Invalid value: 1: is not a field here; there are Untagged, age`,
		`{"Name":"oak"}`:                            `tree.Name: Invalid value: "oak": is not a field here; write name: names are case-sensitive`,
		`{"Secret":""}`:                             `tree.Secret: Invalid value: "": is not a field here`,
		`{"branches":[{"":1}]}`:                     `tree.branches[0][]: Invalid value: 1: is not a field here; there are sound, twigs`,
	} {
		t.Run(document, func(t *testing.T) {
			g := NewWithT(t)
			got := check(document)
			if wants == "" {
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(got).To(ConsistOf(HavePrefix(wants)))
		})
	}
}

func TestEverythingIsToldAtOnce(t *testing.T) {
	g := NewWithT(t)
	g.Expect(check(`{"name":1,"age":"x","branches":[1,{"sound":0,"fruit":1}],"sap":{"cpu":"?","memory":{}}}`)).To(HaveLen(7))
}

func TestLongValuesAreCutInMessages(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, document := range map[string]string{
		"a string":  `{"tall":"` + long + `"}`,
		"a number":  `{"name":1` + strings.Repeat("0", 1<<20) + `}`,
		"a list":    `{"name":[` + strings.Repeat(`"x",`, 1<<18) + `1]}`,
		"an object": `{"name":{"a":{"` + long + `":1},"b":[2]}}`,
		"a name":    `{"` + long + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := check(document)
			NewWithT(t).Expect(got).To(HaveLen(1))
			NewWithT(t).Expect(len(got[0])).To(BeNumerically("<", 500))
			NewWithT(t).Expect(got[0]).To(ContainSubstring("…"))
		})
	}
}

// FuzzCheckAgreesWithTheDecoder takes documents without duplicate fields, which
// are not the checker's business.
func FuzzCheckAgreesWithTheDecoder(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"name":1}`, `{"age":1e3,"leaves":18446744073709551615,"height":1e400}`, `{"branches":[{"twigs":[null]}]}`,
		`{"sap":{"cpu":0.5,"memory":"1Gi"}}`, `{"birds":{"a":1}}`, `{"rings":[1,2]}`, `{"rings":"aGk="}`, `{"port":"http"}`, `{"port":1.5}`,
		`{"planted":"2026-01-01T00:00:00Z"}`, `{"legend":{"a":{"b":[]}}}`, ` { "Untagged" : "\u0000" } `, `{"kind":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var value any
		if duplicates, err := kjson.UnmarshalStrict(document, &value); err != nil || len(duplicates) > 0 || !json.Valid(document) {
			return
		}
		strict, err := kjson.UnmarshalStrict(document, &tree{})
		fits := err == nil && len(strict) == 0
		if found := check(string(document)); fits != (len(found) == 0) {
			t.Errorf("the decoder says %v and %v, Check %q", err, strict, found)
		}
	})
}
