// SPDX-License-Identifier: Apache-2.0

// Command schema writes the JSON schema of each plugin's NetworkConfig beside its
// Go type: types, enums and patterns from kubebuilder's markers, descriptions from
// the doc comments. `make generate` runs it with the packages to look at.
//
// Markers of our own: +trellis:keys=a;b on a map says which keys there are,
// +trellis:positive that its quantities are more than zero, and +trellis:pattern is a
// pattern that may have {CIDR} and {HOST} in it; +trellis:narrowed=a;x;b;y;z on a type
// means that with a: x, b is y or z.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	gopackages "golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

const (
	kind = "NetworkConfig"
	file = "zz_generated.networkconfig.schema.json"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	packages, err := loader.LoadRoots(paths...)
	if err != nil {
		return err
	}
	registry := &markers.Registry{}
	err = errors.Join(
		crdmarkers.Register(registry),
		registry.Define("trellis:narrowed", markers.DescribesType, narrowed{}),
		registry.Define("trellis:keys", markers.DescribesField, keys{}),
		registry.Define("trellis:positive", markers.DescribesField, positive{}),
		registry.Define("trellis:pattern", markers.DescribesField, pattern("")),
	)
	if err != nil {
		return err
	}
	parser := &crd.Parser{Collector: &markers.Collector{Registry: registry}, Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{crd.Generator{}.CheckFilter()}}}
	crd.AddKnownTypes(parser)
	for _, pkg := range packages {
		parser.NeedPackage(pkg)
		identity := crd.TypeIdent{Package: pkg, Name: kind}
		if _, has := parser.Types[identity]; !has {
			continue
		}
		parser.NeedFlattenedSchemaFor(identity)
		// Type errors are those of packages which were only looked at in part.
		if loader.PrintErrors(packages, gopackages.TypeError) {
			return fmt.Errorf("%s: %s has no schema", pkg.PkgPath, kind)
		}
		flat := parser.FlattenedSchemata[identity]
		if err := write(filepath.Join(filepath.Dir(pkg.GoFiles[0]), file), &flat); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, schema *apiextensionsv1.JSONSchemaProps) error {
	document := jsonSchema(schema)
	document["$schema"] = "http://json-schema.org/draft-07/schema#"
	document["title"] = kind
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// keys is the marker that lists the keys of a map.
type keys []string

// ApplyToSchema implements crd.SchemaMarker. What the keys' values are is filled
// in when the map's own schema is known.
func (k keys) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	for _, key := range k {
		schema.Properties[key] = apiextensionsv1.JSONSchemaProps{}
	}
	return nil
}
