// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nested has what the configs of other tests do not.
type nested struct {
	metav1.TypeMeta `json:",inline"`

	Zones   map[string]zone    `json:"zones,omitempty"`
	Pools   []*pool            `json:"pools,omitempty"`
	Size    *resource.Quantity `json:"size,omitempty"`
	Timeout *metav1.Duration   `json:"timeout,omitempty"`
	Again   *nested            `json:"again,omitempty"`
	hidden  string
	Ignored string `json:"-"`
}

type zone struct {
	Name string `json:"name"`
}

type pool struct {
	Zone zone `json:"zone"`
}

func TestPartsOfAConfig(t *testing.T) {
	g := NewWithT(t)
	blocks, values := partsOf(reflect.TypeFor[nested]())
	documents := map[string]string{}
	for _, v := range values {
		documents[v.path] = v.document("7")
	}
	for path, document := range map[string]string{
		"zones":             `{"zones":7}`,
		"zones[].name":      `{"zones":{"key":{"name":7}}}`,
		"pools":             `{"pools":7}`,
		"pools[].zone.name": `{"pools":[{"zone":{"name":7}}]}`,
		"size":              `{"size":7}`,
		"timeout":           `{"timeout":7}`,
		"again.size":        `{"again":{"size":7}}`,
	} {
		g.Expect(documents).To(HaveKeyWithValue(path, document))
	}
	g.Expect(documents).NotTo(HaveKey(ContainSubstring("idden")))
	g.Expect(documents).NotTo(HaveKey(ContainSubstring("gnored")))
	g.Expect(documents).NotTo(HaveKey("kind"))
	g.Expect(len(blocks)).To(BeNumerically("<", 100)) // of a type that has itself as a field
	g.Expect(nested{}.hidden).To(BeEmpty())
}

func TestPathsAsErrorsNameThem(t *testing.T) {
	for path, is := range map[string]bool{
		"zones":             true,
		"zones[a].name":     true,
		"zones.a.name":      true,
		"zones[a].size":     false,
		"pools[0].zone":     true,
		"pools[0].zone.key": false,
		"size":              true,
		"size.value":        false,
		"Size":              false,
		"again.again.size":  true,
		"apiVersion":        true,
		"":                  false,
	} {
		t.Run(path, func(t *testing.T) {
			NewWithT(t).Expect(pathsOf(partsOf(reflect.TypeFor[nested]())).MatchString(path)).To(Equal(is))
		})
	}
}
