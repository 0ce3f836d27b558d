// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// What quantities are, which may have space around them. Editors know no lookahead for
// sure, so that more than zero is spelt out: some digit is none.
const (
	quantity         = `^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)` + quantitySuffix
	positiveQuantity = `^ *\+?(0*[1-9][0-9]*\.?[0-9]*|0*\.0*[1-9][0-9]*)` + quantitySuffix
	quantitySuffix   = `([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)? *$`
)

// Addresses as Go's net/netip reads them.
const (
	octet = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4  = `(` + octet + `\.){3}` + octet
	group = `[0-9A-Fa-f]{1,4}`
	last  = `(` + group + `:` + group + `|` + ipv4 + `)`
	label = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
)

// ipv6 has its two colons nowhere, or instead of one group at least.
var ipv6 = `(` + strings.Join([]string{
	`(` + group + `:){6}` + last,
	`::(` + group + `:){5}` + last,
	`(` + group + `)?::(` + group + `:){4}` + last,
	`((` + group + `:){0,1}` + group + `)?::(` + group + `:){3}` + last,
	`((` + group + `:){0,2}` + group + `)?::(` + group + `:){2}` + last,
	`((` + group + `:){0,3}` + group + `)?::` + group + `:` + last,
	`((` + group + `:){0,4}` + group + `)?::` + last,
	`((` + group + `:){0,5}` + group + `)?::` + group,
	`((` + group + `:){0,6}` + group + `)?::`,
}, `|`) + `)`

// words are what +trellis:pattern writes for what is long.
var words = strings.NewReplacer(
	"{CIDR}", `(`+ipv4+`/0*([0-9]|[12][0-9]|3[0-2])|`+ipv6+`/0*([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))`,
	"{HOST}", `(`+label+`(\.`+label+`)*|`+ipv6+`)`,
)

// pattern is the marker of a regular expression in which {CIDR} stands for an IP
// range, and {HOST} for an IP address or a DNS name.
type pattern string

// ApplyToSchema implements crd.SchemaMarker.
func (p pattern) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	schema.Pattern = words.Replace(string(p))
	return nil
}

// positive is the marker of a map of quantities which are all more than zero.
type positive struct{}

// ApplyToSchema implements crd.SchemaMarker.
func (positive) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	schema.Minimum, schema.ExclusiveMinimum = new(0.0), true
	return nil
}

// narrowed is the marker of a type in which one value of a field leaves another field
// less to choose from: the first one's name, the value, the other's name, and its values.
type narrowed []string

// ApplyToSchema implements crd.SchemaMarker. Either the first is something else, or the
// other is one of its values.
func (n narrowed) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	if len(n) < 4 {
		return errors.New("+trellis:narrowed takes the name of a field, its value, the name of another field, and that one's values")
	}
	enum := func(values ...string) (list []apiextensionsv1.JSON) {
		for _, value := range values {
			list = append(list, apiextensionsv1.JSON{Raw: []byte(strconv.Quote(value))})
		}
		return list
	}
	whenever := apiextensionsv1.JSONSchemaProps{
		Required: []string{n[0]}, Properties: map[string]apiextensionsv1.JSONSchemaProps{n[0]: {Enum: enum(n[1])}},
	}
	null := apiextensionsv1.JSON{Raw: []byte("null")}
	schema.AnyOf = []apiextensionsv1.JSONSchemaProps{
		{Not: &whenever},
		{Properties: map[string]apiextensionsv1.JSONSchemaProps{n[2]: {Enum: append(enum(n[3:]...), null)}}},
	}
	return nil
}
