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

// config has a field of each sort that configs have.
type config struct {
	metav1.TypeMeta `json:",inline"`
	Name            string              `json:"name"`
	Enabled         *bool               `json:"enabled,omitempty"`
	Count           int32               `json:"count"`
	Size            uint64              `json:"size"`
	Ratio           float32             `json:"ratio"`
	Items           []item              `json:"items,omitempty"`
	Resources       corev1.ResourceList `json:"resources,omitempty"`
	Weights         map[string]int8     `json:"weights,omitempty"`
	Data            []byte              `json:"data,omitempty"`
	Port            intstr.IntOrString  `json:"port"`
	Since           metav1.Time         `json:"since"`
	Extra           any                 `json:"extra"`
	Untagged        string
	Secret          string `json:"-"`
}

type item struct {
	Active bool   `json:"active"`
	Items  []item `json:"items,omitempty"`
}

func check(document string) []string {
	var lines []string
	for _, err := range strictjson.Check(field.NewPath("config"), []byte(document), reflect.TypeFor[config](), strictjson.RefuseUnknown) {
		lines = append(lines, err.Error())
	}
	return lines
}

func TestWhatDoesNotFitIsToldWithPathValueAndWhatIsAllowed(t *testing.T) {
	for document, wants := range map[string]string{
		`{"name":"one","enabled":true,"items":[{"items":[{}]}],"resources":{"cpu":"1"},"extra":{"any":["thing"]}}`: "",
		`{"name":null,"items":null,"resources":null,"count":null}`:                                                 "",
		`7`:                 `config: Invalid value: 7: must be an object, not a number`,
		`{"name":7}`:        `config.name: Invalid value: 7: must be a string, not a number; write it in quotes`,
		`{"name":false}`:    `config.name: Invalid value: false: must be a string, not true or false; write it in quotes`,
		`{"name":["a"]}`:    `config.name: Invalid value: ["a"]: must be a string, not a list`,
		`{"enabled":"yes"}`: `config.enabled: Invalid value: "yes": must be true or false, not a string`,
		`{"count":"many"}`:  `config.count: Invalid value: "many": must be a whole number from -2147483648 to 2147483647, not a string`,
		`{"count":1.5}`:     `config.count: Invalid value: 1.5: must be a whole number from -2147483648 to 2147483647`,
		`{"size":-1}`:       `config.size: Invalid value: -1: must be a whole number from 0 to 18446744073709551615`,
		`{"ratio":"x"}`:     `config.ratio: Invalid value: "x": must be a number, not a string`,
		`{"items":{}}`:      `config.items: Invalid value: {}: must be a list, not an object`,
		`{"items":[{},{"items":[{"active":1}]}]}`: `config.items[1].items[0].active: Invalid value: 1: must be true or false, not a number`,
		`{"resources":{"cpu":"abc"}}`:             `config.resources.cpu: Invalid value: "abc": is not a Quantity: quantities must match the regular expression`,
		`{"resources":{"example.com/gpu":[]}}`:    `config.resources[example.com/gpu]: Invalid value: []: is not a Quantity`,
		`{"weights":{"first":128}}`:               `config.weights.first: Invalid value: 128: must be a whole number from -128 to 127`,
		`{"data":"?"}`:                            `config.data: Invalid value: "?": must be a string in base64`,
		`{"since":"once"}`:                        `config.since: Invalid value: "once": is not a Time`,
		`{"port":{}}`:                             `config.port: Invalid value: {}: is not a IntOrString`,
		`{"nmae":{"a":[1]}}`:                      `config.nmae: Invalid value: {"a":[1]}: is not a field here; did you mean name? There are Untagged, apiVersion, count, data`,
		`{"missing":1}`:                           `config.missing: Invalid value: 1: is not a field here; there are Untagged, apiVersion`,
		`{"Name":"one"}`:                          `config.Name: Invalid value: "one": is not a field here; write name: names are case-sensitive`,
		`{"Secret":""}`:                           `config.Secret: Invalid value: "": is not a field here`,
		`{"items":[{"":1}]}`:                      `config.items[0][]: Invalid value: 1: is not a field here; there are active, items`,
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
	g.Expect(check(`{"name":1,"count":"x","items":[1,{"active":0,"missing":1}],"resources":{"cpu":"?","memory":{}}}`)).To(HaveLen(7))
}

func TestLongValuesAreCutInMessages(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, document := range map[string]string{
		"a string":  `{"enabled":"` + long + `"}`,
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
		`{}`, `null`, `[]`, `{"name":1}`, `{"count":1e3,"size":18446744073709551615,"ratio":1e400}`, `{"items":[{"items":[null]}]}`,
		`{"resources":{"cpu":0.5,"memory":"1Gi"}}`, `{"weights":{"a":1}}`, `{"data":[1,2]}`, `{"data":"aGk="}`, `{"port":"http"}`, `{"port":1.5}`,
		`{"since":"2026-01-01T00:00:00Z"}`, `{"extra":{"a":{"b":[]}}}`, ` { "Untagged" : "\u0000" } `, `{"kind":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var value any
		if duplicates, err := kjson.UnmarshalStrict(document, &value); err != nil || len(duplicates) > 0 || !json.Valid(document) {
			return
		}
		strict, err := kjson.UnmarshalStrict(document, &config{})
		fits := err == nil && len(strict) == 0
		if found := check(string(document)); fits != (len(found) == 0) {
			t.Errorf("the decoder says %v and %v, Check %q", err, strict, found)
		}
	})
}
